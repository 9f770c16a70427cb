// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/evolution_training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "fiber/rl/random.hpp"
#include "rl/es/keys.hpp"

namespace fiber::rl {
namespace {

namespace es_training {

double mean(std::span<const double> values) {
  const auto total = std::accumulate(values.begin(), values.end(), 0.0);
  return total / static_cast<double>(values.size());
}

std::size_t parameter_count(const EvolutionTrainingOptions& options,
                            const PolicySpec& policy) {
  return options.weights_only ? evolved_weight_count(policy)
                              : evolved_parameter_count(policy);
}

EvolutionTrainingState initial_state(const EvolutionTrainingOptions& options,
                                     const Spaces& spaces) {
  Random seeds(options.seed, {es::initial_parameters});
  EvolutionTrainingState state;
  const auto policy = evolved_policy(spaces, options.hidden);
  if (options.weights_only)
    state.search.parameters.resize(parameter_count(options, policy));
  else
    state.search.parameters = initial_evolved_parameters(policy, seeds.next());
  state.search.moment1.resize(state.search.parameters.size());
  state.search.moment2.resize(state.search.parameters.size());
  if (options.normalise)
    state.observations = RunningMoments(spaces.observation_size());
  return state;
}

} // namespace es_training

} // namespace

std::map<std::string, std::string> EvolutionTrainingOptions::settings() const {
  std::string layers;
  for (auto units : hidden)
    layers += (layers.empty() ? "" : " ") + detail::number_text(units);
  std::map<std::string, std::string> all{
    {"environment", environment},
    {"seed", detail::number_text(seed)},
    {"hidden", layers},
    {"episodes", detail::number_text(episodes)},
    {"evaluations", detail::number_text(evaluations)},
    {"table", detail::number_text(table_size)},
    {"counted share", detail::number_text(normalise ? counted_share : 0)},
    {"solved at", solved_at ? detail::number_text(*solved_at) : "never"},
    {"directions", detail::number_text(search.directions)},
    {"sigma", detail::number_text(search.sigma)},
    {"learning rate", detail::number_text(search.learning_rate)},
    {"weight decay", detail::number_text(search.weight_decay)},
    {"Adam", detail::number_text(search.beta1) + " " + detail::number_text(search.beta2) +
               " " + detail::number_text(search.epsilon)}};
  // What has its old value is not named, so that older checkpoints can still be resumed.
  if (evaluate_every != 1)
    all.emplace("evaluate every", detail::number_text(evaluate_every));
  if (search.optimiser == Optimiser::sgd)
    all.emplace("optimiser", "sgd");
  if (search.top != 0)
    all.emplace("top", detail::number_text(search.top));
  if (search.normalise_by_deviation)
    all.emplace("normalise by deviation", "yes");
  if (weights_only)
    all.emplace("weights only", "yes");
  if (alive_bonus_offset != 0)
    all.emplace("alive bonus offset", detail::number_text(alive_bonus_offset));
  if (observation_clip != 5)
    all.emplace("observation clip", detail::number_text(observation_clip));
  return all;
}

EvolutionTraining::EvolutionTraining(EvolutionTrainingOptions options,
                                     const Spaces& spaces, std::span<const float> noise)
  : EvolutionTraining(options, spaces, noise,
                      es_training::initial_state(options, spaces)) {}

EvolutionTraining::EvolutionTraining(EvolutionTrainingOptions options,
                                     const Spaces& spaces, std::span<const float> noise,
                                     EvolutionTrainingState state)
  : options_(std::move(options)), policy_(evolved_policy(spaces, options_.hidden)),
    noise_(noise), state_(std::move(state)) {
  if (options_.episodes == 0 || options_.evaluations == 0)
    throw std::invalid_argument("a candidate must be judged by one episode at least");
  if (options_.evaluate_every == 0)
    throw std::invalid_argument("a policy must be evaluated every 1 or more iterations");
  if (!(options_.counted_share > 0 && options_.counted_share <= 1))
    throw std::invalid_argument("the share of directions that count must be above 0, "
                                "and 1 at most");
  if (!(options_.observation_clip > 0))
    throw std::invalid_argument("the limit of observations must be above 0");
  if (!std::isfinite(options_.alive_bonus_offset))
    throw std::invalid_argument("the offset of the alive bonus must be finite");
  if (const auto count = es_training::parameter_count(options_, policy_);
      state_.search.parameters.size() != count)
    throw std::invalid_argument("the saved state has " +
                                std::to_string(state_.search.parameters.size()) +
                                " parameters; the policy has " + std::to_string(count));
  if (options_.normalise && state_.observations.size() != spaces.observation_size())
    throw std::invalid_argument("the saved state has the moments of " +
                                std::to_string(state_.observations.size()) +
                                " observed numbers; the environment shows " +
                                std::to_string(spaces.observation_size()));
}

bool EvolutionTraining::finished() const {
  return state_.solved || state_.search.iteration >= options_.iterations;
}

FrozenNormaliser EvolutionTraining::normaliser() const {
  constexpr double epsilon = 1e-8, constant = 1e-14;
  const auto& seen = state_.observations;
  const FrozenNormaliser all(seen, options_.observation_clip, epsilon);
  if (std::isfinite(options_.observation_clip))
    return all;
  // Without a limit, a number that was constant so far would be huge once it changes, and
  // its weights have learned nothing: it is left out, as in the authors' program of ARS.
  std::vector<double> scale(all.scale().begin(), all.scale().end());
  for (std::size_t i = 0; i < scale.size(); ++i)
    if (seen.variance(i) < constant)
      scale[i] = 0;
  return {{all.mean().begin(), all.mean().end()}, std::move(scale), all.clip()};
}

Generation EvolutionTraining::generation() const {
  // The moments of few rows would scale by chance, so the first iteration does without.
  const bool scales = options_.normalise && state_.observations.count() > 1;
  return {.policy = policy_,
          .seed = options_.seed,
          .iteration = state_.search.iteration,
          .episodes = options_.episodes,
          .sigma = options_.search.sigma,
          .counted_share = options_.normalise ? options_.counted_share : 0,
          .alive_bonus_offset = options_.alive_bonus_offset,
          .normaliser = scales ? normaliser() : FrozenNormaliser(),
          .parameters = state_.search.parameters};
}

CurvePoint& EvolutionTraining::step(const EvolutionEvaluator& evaluator) {
  Evolution search(state_.search, noise_, options_.seed, options_.search);
  const auto results = evaluator.directions(generation(), search.ask());
  std::vector<MirroredReturns> returns;
  returns.reserve(results.size());
  EvolutionTrainingState next = state_;
  CurvePoint point;
  point.population_best = results.empty() ? 0 : results.front().returns.plus;
  for (const auto& [pair, seen] : results) {
    returns.push_back(pair);
    point.population_mean += (pair.plus + pair.minus) / 2;
    point.population_best = std::max({point.population_best, pair.plus, pair.minus});
    if (options_.normalise && seen.count() > 0)
      next.observations.merge(seen); // In the order of the directions: the same bits.
  }
  search.tell(returns);
  point.population_mean /= static_cast<double>(returns.size());
  next.search = search.state();
  std::swap(state_, next);
  try {
    judge(evaluator, point);
  } catch (...) {
    std::swap(state_, next);
    throw;
  }
  return state_.curve.emplace_back(point);
}

void EvolutionTraining::judge(const EvolutionEvaluator& evaluator, CurvePoint& point) {
  const auto moved = generation();
  const auto count = options_.evaluations;
  point.iteration = state_.search.iteration;
  point.policy_mean = std::numeric_limits<double>::quiet_NaN();
  point.episodes = 2 * options_.episodes * options_.search.directions;
  if (!state_.curve.empty())
    point.episodes += state_.curve.back().episodes;
  if (point.iteration % options_.evaluate_every != 0 &&
      point.iteration != options_.iterations)
    return;
  point.policy_mean =
    es_training::mean(evaluator.policy(moved, Judgement::evaluation, count));
  point.episodes += count;
  if (options_.solved_at && point.policy_mean >= *options_.solved_at) {
    state_.confirmed_mean =
      es_training::mean(evaluator.policy(moved, Judgement::confirmation, count));
    state_.solved = state_.confirmed_mean >= *options_.solved_at;
    point.episodes += count;
  }
}

EvolutionEvaluator serial_evaluator(AnyEnvironment& environment,
                                    std::span<const float> noise) {
  return {
    .directions =
      [&environment, noise](const Generation& generation,
                            const std::vector<std::uint64_t>& offsets) {
        std::vector<DirectionResult> results;
        results.reserve(offsets.size());
        for (auto offset : offsets)
          results.push_back(evaluate_direction(environment, generation, noise, offset));
        return results;
      },
    .policy =
      [&environment](const Generation& generation, Judgement judgement,
                     std::uint64_t count) {
        std::vector<double> returns;
        for (std::uint64_t episode = 0; episode < count; ++episode)
          returns.push_back(evaluate_policy(environment, generation, judgement, episode));
        return returns;
      }};
}

} // namespace fiber::rl
