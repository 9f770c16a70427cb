// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "fiber/rl/evolution.hpp"
#include "rl/poet/evaluation.hpp"
#include "rl/poet/options.hpp"
#include "rl/poet/state.hpp"

namespace fiber::rl::poet {

/// What the evaluator has played.
struct Effort {
  std::uint64_t steps = 0, episodes = 0;
};

/// The settings of a search that has done so many steps since it began: sigma and the
/// learning rate decay from their first value to their least.
EvolutionOptions search_options(const PoetOptions& options, std::uint64_t steps_done);

/// A step of the evolution strategy for one agent in one environment, whose episodes are
/// played meanwhile.
class SearchStep {
public:
  /// Starts it. The directions and the episodes follow from the seed and the agent's
  /// number of steps.
  SearchStep(const PoetOptions& options, std::span<const float> noise,
             const EnvironmentParameters& parameters, const Agent& agent,
             std::uint64_t seed, Evaluator& evaluator);

  /// Blocks until all is played. Returns the agent after the step. Call it once.
  Agent finish(Effort& effort);

  /// The best return of a candidate. After finish().
  double best() const { return best_; }

private:
  Agent agent_;
  Evolution evolution_;
  Later<std::vector<Trial>> trials_;
  double best_ = 0;
};

/// Blocks until the episodes are played, and returns their mean return.
double mean_return(const Later<std::vector<Played>>& episodes, Effort& effort);

} // namespace fiber::rl::poet
