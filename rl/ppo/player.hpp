// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fiber/rl/any_vec_env.hpp"
#include "fiber/rl/policy.hpp"
#include "rl/ppo/rollout_actor.hpp"
#include "rl/ppo/trajectory.hpp"

namespace fiber::rl::ppo {

/// Where a player's environments are, if not in this process.
struct PlayerJobs {
  std::size_t jobs = 0; ///< As in VecEnvOptions, like the time limit.
  std::optional<std::chrono::milliseconds> step_timeout = {};
  bool saves = false; ///< state() is called.
};

/// Plays environments by policies that are given to it, and notes what a learner has to
/// know: those of one actor, or those that are played while a learner learns.
class Player {
public:
  /// Throws what the environments' constructors throw.
  Player(const ActorOptions& options, std::uint64_t life, const PlayerJobs& where = {});

  /// The version of the policy that it plays by; nothing before the first.
  std::optional<std::uint64_t> version() const { return version_; }
  void follow(std::uint64_t version, std::span<const float> parameters,
              const FrozenNormaliser& observations);

  /// Plays on from where it is. Throws std::domain_error, naming the environment, if an
  /// observation or a reward is not finite.
  Trajectory play();

  /// Where it is between two trajectories.
  struct State {
    VecEnvState envs = {};
    std::uint64_t steps = 0;
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& envs& steps;
    }
  };
  State state() const { return {envs_.state(), steps_}; }
  /// Throws std::invalid_argument for a state of other environments.
  void go_on_from(const State& state);

private:
  void see(const Batch& batch);
  void act(Trajectory& to);
  void record(const Batch& batch, Trajectory& to);

  ActorOptions options_;
  std::uint64_t action_seed_;
  AnyVecEnv envs_;
  Policy policy_;
  FrozenNormaliser normaliser_;
  std::optional<std::uint64_t> version_;
  std::uint64_t steps_ = 0; ///< Of each environment.
  std::vector<float> now_;  ///< What the environments show.
  std::vector<std::uint8_t> begins_;
  EnvFailures told_; ///< Those that trajectories have told of.
  std::vector<float> normalised_, sent_;
  std::vector<std::uint8_t> masks_now_; ///< Of `now_`.
};

} // namespace fiber::rl::ppo
