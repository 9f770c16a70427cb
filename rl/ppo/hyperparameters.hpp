// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "rl/ppo/learner.hpp"

namespace fiber::rl::ppo {

/// What PPO is told about an environment, but for its name and the seed.
struct Hyperparameters {
  std::uint64_t steps = 100'000; ///< Of all environments together.
  std::size_t envs = 8;
  std::size_t rollout = 128; ///< Steps of each environment between two updates.
  double gamma = 0.99, lambda = 0.95;
  double learning_rate = 3e-4, clip_range = 0.2;
  bool anneal_learning_rate = false; ///< Linearly to 0 at the last step.
  bool anneal_clip_range = false;    ///< The same.
  bool normalise_observations = false, normalise_rewards = false;
  bool sign_rewards = false; ///< Learn from -1, 0 and 1 alone.
  UpdateOptions update = {};

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& steps& envs& rollout& gamma& lambda& learning_rate& clip_range;
    archive& anneal_learning_rate& anneal_clip_range;
    archive& normalise_observations& normalise_rewards& sign_rewards& update;
  }
};

/// The settings that ppo takes for an environment if it is told nothing else: those of
/// the table in hyperparameters.cpp, or general ones for other names.
Hyperparameters hyperparameters_of(const std::string& environment);

/// All of them in one line. Runs of equal lines learn the same.
std::string describe(const Hyperparameters& settings);

/// Throws std::invalid_argument for a setting that makes no sense, and says which would.
void check(const Hyperparameters& settings);

} // namespace fiber::rl::ppo
