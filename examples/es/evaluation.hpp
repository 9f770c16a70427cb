// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "es/environment.hpp"
#include "es/optimizer.hpp"
#include "es/policy.hpp"

namespace es {

/// What all evaluations of one iteration have in common. Sent once to each job; a task
/// then is one number.
struct Generation {
  std::string environment;
  PolicyShape shape;
  std::uint64_t seed = 0;
  std::uint64_t iteration = 0;
  std::size_t episodes = 1; ///< Episodes a candidate is judged by.
  float sigma = 0;
  std::vector<float> parameters;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& environment& shape& seed& iteration& episodes& sigma& parameters;
  }
};

/// The sum of rewards of one episode.
double rollout(Environment& environment, Policy& policy, Random start);

/// The mean returns of the two candidates at an offset of the noise table. Both play
/// episodes with the same starts, so that they differ by what they do, not by their luck.
MirroredReturns evaluate_direction(const Generation& generation,
                                   std::span<const float> noise, std::uint64_t offset);

/// The return of the unperturbed policy in one episode that no training uses; `use` is
/// evaluation_episode or confirmation_episode.
double evaluate_policy(const Generation& generation, Use use, std::uint64_t episode);

} // namespace es
