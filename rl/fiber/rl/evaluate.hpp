// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/policy.hpp"

namespace fiber::rl {

struct EvaluationOptions {
  std::size_t episodes = 100;
  /// The number of the first episode. An episode depends only on the seed and its number:
  /// two calls for 0 to 49 and for 50 to 99 play the same episodes as one for 0 to 99.
  std::size_t first = 0;
  bool deterministic = true; ///< Take the most probable action; false: draw one.
  std::uint64_t seed = 0;
  std::size_t step_limit = 100'000; ///< Ends an episode that would not end. 0: none.
};

/// The results of an evaluation, in the order of its episodes.
struct Evaluation {
  std::vector<double> returns; ///< Sums of rewards, neither discounted nor normalised.
  std::vector<std::size_t> lengths; ///< In steps.

  /// NaN if there was no episode.
  double mean_return() const;
  /// The standard deviation of the returns (divided by their number).
  double deviation() const;
};

/// The seed of an evaluation's episode. It is derived in another way than episode_seed(),
/// so that training with the same seed does not see these episodes.
std::uint64_t evaluation_seed(std::uint64_t seed, std::size_t episode);

/// Plays fresh episodes of an environment, one after another. `observations` normalises
/// the observations first. Continuous actions are clipped to their bounds.
///
/// Throws std::invalid_argument if the policy is for other spaces than the environment's,
/// an error that names episode and step if a number is not finite (std::domain_error for
/// observations and rewards, PolicyOverflow for the policy's outputs), and what the
/// environment throws.
Evaluation evaluate(AnyEnvironment& environment, Policy& policy,
                    const FrozenNormaliser& observations,
                    const EvaluationOptions& options = {});

/// Chooses an action for an observation. `action` has Spaces::action_size() floats. One
/// who draws takes the random numbers of `key`: they are others in each step.
using ChooseAction = std::function<void(std::span<const float> observation,
                                        const SampleKey& key, std::span<float> action)>;

/// The same by whatever chooses actions. EvaluationOptions::deterministic is for
/// `choose` to follow.
Evaluation evaluate(AnyEnvironment& environment, const ChooseAction& choose,
                    const EvaluationOptions& options = {});

/// The same, in an environment that it makes with make_environment().
Evaluation evaluate(const std::string& environment, Policy& policy,
                    const FrozenNormaliser& observations,
                    const EvaluationOptions& options = {});

} // namespace fiber::rl
