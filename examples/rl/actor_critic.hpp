// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/serialization/vector.hpp>
#include <fiber/rl/cartpole.hpp>
#include <fiber/rl/random.hpp>

// An actor-critic for CartPole whose players may act by an older policy than the one that
// learns (IMPALA; Espeholt et al. 2018, arXiv 1802.01561). It knows no jobs.

namespace actor_critic {

/// Four weights: their product with an observation is the log odds of a push to the
/// right.
using Policy = std::vector<float>;

/// What a player lived through, step by step.
struct Trajectory {
  std::vector<float> seen, next; ///< Observations before and after: 4 numbers for a step.
  std::vector<float> right, log_probabilities; ///< Of the actions, when they were chosen.
  std::vector<double> rewards, returns;        ///< Returns: of the episodes that ended.
  std::vector<std::uint8_t> terminated, truncated;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& seen& next& right& log_probabilities& rewards& returns& terminated&
      truncated;
  }
};

/// Plays one CartPole, episode after episode.
class Player {
public:
  Player(std::uint64_t seed, std::uint64_t index);
  Trajectory play(const Policy& policy, std::size_t steps);

private:
  fiber::rl::Random random_;
  fiber::rl::CartPole pole_;
  double return_ = 0; ///< Of the episode that it plays.
};

/// A policy, and a critic: 15 weights, whose product with the features of a state is the
/// state's value.
struct Model {
  Policy policy = Policy(4);
  std::vector<float> critic = std::vector<float>(15);
  std::uint64_t updates = 0;
  double mean_return = 0; ///< Of the episodes that ended in the last batch.

  /// Improves both. V-trace corrects for the age of the policies that played.
  void update(const std::vector<Trajectory>& batch);

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& policy& critic& updates& mean_return;
  }
};

/// The mean return of episodes with the likelier action at each step.
double evaluate(const Policy& policy, std::uint64_t seed, int episodes);

} // namespace actor_critic
