// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rl/ppo/sequences.hpp"

namespace fiber::rl::ppo {

/// What a recurrent policy remembers of the episodes of a rollout. Without such a policy
/// all is empty.
class EpisodeMemory {
public:
  /// `size`: PolicySpec::memory_size().
  EpisodeMemory(std::size_t envs, std::size_t size)
    : envs_(envs), size_(size), now_(envs * size), ended_(envs) {}

  /// The present memory of all environments, one after another.
  std::span<float> now() { return now_; }
  std::span<const float> now() const { return now_; }
  /// The present memory of one environment.
  std::span<float> of(std::size_t env) { return now().subspan(env * size_, size_); }

  void begin_rollout();
  /// The next step of all environments begins.
  void begin_step();
  /// The episode of an environment has ended in this step.
  void end_episode(std::size_t env);
  /// Returns the sequences of the valid rows. `valid` is time-major.
  Sequences sequences(std::span<const std::uint8_t> valid);

  /// Where it is between two rollouts. Throws std::invalid_argument for a memory of
  /// another size than now().
  void go_on_from(std::span<const float> memory);

private:
  std::size_t envs_, size_;
  std::vector<float> now_, first_;
  std::vector<std::uint8_t> ended_;         ///< In the last step of this rollout.
  std::vector<std::uint8_t> begins_;        ///< Of all rows of the rollout.
  std::vector<std::uint32_t> environments_; ///< Of valid rows, as the next.
  std::vector<std::uint8_t> valid_begins_;
};

} // namespace fiber::rl::ppo
