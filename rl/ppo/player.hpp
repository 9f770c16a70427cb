// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fiber/rl/any_vec_env.hpp"
#include "fiber/rl/policy.hpp"
#include "rl/ppo/rollout_actor.hpp"
#include "rl/ppo/trajectory.hpp"

namespace fiber::rl::ppo {

/// Plays the environments of one actor, which live in this process, and notes what the
/// learner has to know.
class Player {
public:
  /// Throws what the environments' constructors throw.
  Player(const ActorOptions& options, std::uint64_t life);

  /// The version of the policy that it plays by; nothing before the first.
  std::optional<std::uint64_t> version() const { return version_; }
  void follow(const PublishedPolicy& policy);

  /// Plays on from where it is. Throws std::domain_error, naming the environment, if an
  /// observation or a reward is not finite.
  Trajectory play();

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
  std::vector<float> normalised_, sent_;
  std::vector<std::uint8_t> masks_now_; ///< Of `now_`.
};

} // namespace fiber::rl::ppo
