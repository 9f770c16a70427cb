// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/serialization/string.hpp>

#include "fiber/rl/detail/learner_state.hpp"
#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/policy.hpp"
#include "fiber/rl/population.hpp"
#include "fiber/rl/saved_policy.hpp"

namespace fiber::rl {

/// Proximal policy optimisation (Schulman et al. 2017) as the problem of a Population:
///
///     fiber::rl::PopulationOptions options{.ranges = fiber::rl::PpoProblem::ranges()};
///     fiber::rl::PpoProblem problem{.environment = "acrobot"};
///     fiber::rl::Population<fiber::rl::PpoProblem> population(problem, options);
///
/// A round trains for some steps in new episodes, in the process of the member and on one
/// thread. Then it evaluates the policy in fresh episodes: their mean return is the
/// score. Settings that are not tuned are those that the program ppo takes for the
/// environment, without its schedules and its target KL.
///
/// Link with fiber::ppo, and with fiber::ppo_torch for environments that show images.
struct PpoProblem {
  /// All that a round leaves for the next one.
  struct State {
    detail::LearnerState learner;
    ObservationNormaliser observations;
    RewardNormaliser rewards;

    friend bool operator==(const State&, const State&) = default;

    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& learner& observations& rewards;
    }
  };

  std::string environment = "cartpole"; ///< A name that make_environment() takes.
  std::uint64_t seed = 1;               ///< Decides all that is drawn.
  /// Of all environments together, in a round; rounded up to whole rollouts.
  std::uint64_t steps = 8192;
  std::size_t evaluations = 20; ///< Episodes that give the score.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& environment& seed& steps& evaluations;
  }

  /// The hyper-parameters, in the order that train() takes: the learning rate, the weight
  /// of the entropy, and the clip range.
  static std::vector<HyperparameterRange> ranges();

  PolicySpec spec() const;
  /// Throws what the constructor of the environment throws.
  State start(std::uint64_t member) const;
  /// Trains for a round. One in which a loss becomes infinite or NaN ends there. The
  /// score is NaN if an output of the policy is infinite or NaN. Throws
  /// std::invalid_argument for a learning rate or a clip range that is not above 0.
  double train(State& state, const Hyperparameters& values, std::uint64_t member,
               std::uint64_t round) const;
  /// The mean return in episodes that no training and no score used.
  double judge(const State& state, std::size_t episodes) const;
  SavedPolicy saved(const State& state) const;
  /// What decides a round, for FileLabel::settings.
  std::map<std::string, std::string> settings() const;
};

} // namespace fiber::rl
