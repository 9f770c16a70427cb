// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/any_vec_env.hpp"
#include "rl/vec/rows.hpp"

namespace fiber::rl::vec {

/// What the driver knows of each environment: the episode it is in and the actions of
/// that, the order that it has, and the facts of its last row. All of it is the driver's
/// own memory; observations stay in Rows.
class EpisodeBook {
public:
  EpisodeBook(const VecEnvOptions& options, const Spaces& spaces, Rows& rows);

  /// Writes an order to the environment's cell.
  void order(int id, detail::Op op, std::span<const float> action);
  /// The order that the environment has.
  detail::Order pending(int id) const;
  /// The action of that order.
  std::span<const float> sent(int id) const;
  /// Takes note of the row that answers the order. It is in the environment's cell.
  void accept(int id);
  /// The episode is lost: its environment, which forgot it, begins a new one when it
  /// follows the order that it has, or the next one. `other_seed`: that is not to begin
  /// with the seed that was to be the next.
  void give_up(int id, bool other_seed);
  /// The order of an environment that threw is in flight again, to begin a new episode.
  void renew(int id);

  /// The episode under way.
  detail::History history(int id) const;
  /// Whether that is to be retraced before the order of an environment whose process has
  /// forgotten it. If not, the episode is lost.
  bool retraces(int id) const;

  bool has_begun(int id) const { return env(id).where.episodes > 0; }
  bool in_flight(int id) const { return env(id).in_flight; }
  bool done(int id) const { return env(id).where.done; }
  /// What it threw, if it must be reset for that.
  const std::optional<std::string>& failure(int id) const { return env(id).failure; }
  /// How often it threw since its last step that ended well, or order to reset.
  int failures(int id) const { return env(id).failures; }
  /// The row of its order is handed out, or nobody wants it.
  void land(int id) { env(id).in_flight = false; }

  /// How many numbers the histories have room for: what their memory is.
  std::size_t kept() const;
  VecEnvState state() const;
  void restore(const VecEnvState& state);

  // The facts of the last row of each environment.
  std::vector<double> rewards, episode_returns;
  std::vector<std::uint8_t> terminated, truncated, valid;
  std::vector<int> episode_lengths;

private:
  struct Env {
    VecEnvState::Env where;
    std::uint64_t next_seed = 0; ///< Of the episode after this one.
    detail::Op op = detail::Op::reset;
    bool in_flight = false;
    bool given_up = false; ///< Since its last row.
    std::uint16_t failures = 0;
    std::optional<std::string> failure;
  };

  Env& env(int id) { return envs_[static_cast<std::size_t>(id)]; }
  const Env& env(int id) const { return envs_[static_cast<std::size_t>(id)]; }
  void write_order(int id);
  void next_episode(int id);
  void note_step(int id, bool ended);
  void keep_action(VecEnvState::Env& where, std::span<const float> action) const;
  std::uint64_t seed_of(int id, std::uint64_t episode) const;

  const VecEnvOptions& options_;
  const std::size_t action_size_;
  const std::size_t max_kept_; ///< Numbers of a history.
  Rows& rows_;
  std::uint64_t seed_;
  std::vector<Env> envs_;
  std::vector<float> sent_; ///< Actions; those in Rows belong to the jobs, too.
};

} // namespace fiber::rl::vec
