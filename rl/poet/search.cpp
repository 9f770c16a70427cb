// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rl/poet/poet.hpp"

namespace fiber::rl::poet {

EvolutionOptions search_options(const PoetOptions& options, std::uint64_t steps_done) {
  const auto decayed = [&](double first, double decay, double least) {
    return std::max(least, first * std::pow(decay, static_cast<double>(steps_done)));
  };
  EvolutionOptions search;
  search.directions = options.directions;
  search.sigma =
    static_cast<float>(decayed(options.sigma, options.sigma_decay, options.min_sigma));
  search.learning_rate = decayed(options.learning_rate, options.learning_rate_decay,
                                 options.min_learning_rate);
  return search;
}

SearchStep::SearchStep(const PoetOptions& options, std::span<const float> noise,
                       const EnvironmentParameters& parameters, const Agent& agent,
                       std::uint64_t seed, Evaluator& evaluator)
  : agent_(agent), evolution_(agent.search, noise, seed,
                              search_options(options, agent.search.iteration)) {
  auto job = job_for(options, parameters, agent, seed, agent.search.iteration);
  job.generation.sigma = evolution_.options().sigma;
  trials_ = evaluator.try_directions(std::move(job), evolution_.ask());
}

Agent SearchStep::finish(Effort& effort) {
  best_ = -std::numeric_limits<double>::infinity();
  std::vector<MirroredReturns> returns;
  for (const auto& [result, steps] : trials_()) {
    returns.push_back(result.returns);
    best_ = std::max({best_, result.returns.plus, result.returns.minus});
    if (result.seen.count() > 0) // In the order of the directions: the same bits.
      agent_.observations.merge(result.seen);
    effort.steps += steps;
    effort.episodes += 2;
  }
  evolution_.tell(returns);
  agent_.search = evolution_.state();
  return std::move(agent_);
}

double mean_return(const Later<std::vector<Played>>& episodes, Effort& effort) {
  const auto all = episodes();
  double total = 0;
  for (const auto& [result, steps] : all) {
    total += result;
    effort.steps += steps;
  }
  effort.episodes += all.size();
  return total / static_cast<double>(all.size());
}

} // namespace fiber::rl::poet
