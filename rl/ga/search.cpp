// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/evolution_evaluation.hpp"
#include "fiber/rl/genetic.hpp"
#include "fiber/rl/random.hpp"
#include "rl/ga/keys.hpp"

namespace fiber::rl {
namespace {
namespace ga_search {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

/// The numbers of the values, the greatest value first; of equal ones the first.
std::vector<std::size_t> ranked(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return values[i]; });
  return order;
}

/// The children as genomes, the best first.
std::vector<Genome> ranked_genomes(const std::vector<Genome>& parents,
                                   const std::vector<Offspring>& children,
                                   std::span<const double> fitness) {
  std::vector<Genome> genomes;
  for (auto i : ranked(fitness)) {
    auto genome = parents.empty() ? Genome() : parents[children[i].parent];
    genome.push_back(children[i].seed);
    genomes.push_back(std::move(genome));
  }
  return genomes;
}

} // namespace ga_search
} // namespace

std::map<std::string, std::string> GeneticOptions::settings() const {
  std::string layers;
  for (auto units : hidden)
    layers += (layers.empty() ? "" : " ") + detail::number_text(units);
  return {{"environment", environment},
          {"seed", detail::number_text(seed)},
          {"hidden", layers},
          {"population", detail::number_text(population)},
          {"parents", detail::number_text(parents)},
          {"sigma", detail::number_text(sigma)},
          {"episodes", detail::number_text(episodes)},
          {"elite candidates", detail::number_text(elite_candidates)},
          {"elite episodes", detail::number_text(elite_episodes)},
          {"evaluations", detail::number_text(evaluations)},
          {"solved at", solved_at ? detail::number_text(*solved_at) : "never"}};
}

void GeneticOptions::check() const {
  if (population == 0 || episodes == 0 || elite_episodes == 0 || evaluations == 0)
    throw std::invalid_argument(
      "population, episodes, elite episodes and evaluations must be above 0");
  if (parents == 0 || parents > population)
    throw std::invalid_argument("there must be 1 to " + std::to_string(population) +
                                " parents, as many as children, not " +
                                std::to_string(parents));
  if (elite_candidates < 2 || elite_candidates > population)
    throw std::invalid_argument("there must be 2 to " + std::to_string(population) +
                                " candidates for the elite, not " +
                                std::to_string(elite_candidates));
  if (!(sigma > 0))
    throw std::invalid_argument("sigma must be above 0");
}

GeneticOptions genetic_options(const std::string& environment) {
  const auto evolution = evolution_options(environment);
  GeneticOptions options;
  options.environment = environment;
  options.solved_at = evolution.solved_at;
  options.hidden = evolution.hidden;
  options.evaluations = evolution.evaluations;
  if (environment == "pendulum") { // Large mutations: sigma 0.1 ends at half the way.
    options.generations = 60;
    options.population = 100;
    options.parents = 10;
    options.sigma = 0.4f;
    options.episodes = 4;
  }
  return options;
}

GeneticEvaluator serial_evaluator(GeneticWorker& worker) {
  auto each = [&worker](const Brood& brood, const auto& tasks) {
    std::vector<double> values;
    for (auto task : tasks)
      values.push_back(worker.evaluate(brood, task));
    return values;
  };
  return {.offspring = each, .trials = each};
}

GeneticSearch::GeneticSearch(GeneticOptions options, const Spaces& spaces)
  : GeneticSearch(std::move(options), spaces, {}) {}

GeneticSearch::GeneticSearch(GeneticOptions options, const Spaces& spaces,
                             GeneticState state)
  : options_(std::move(options)), policy_(evolved_policy(spaces, options_.hidden)),
    state_(std::move(state)) {
  options_.check();
  if (state_.generation > 0 && state_.parents.empty())
    throw std::invalid_argument("a state of a genetic search without parents");
}

bool GeneticSearch::finished() const {
  return state_.solved || state_.generation >= options_.generations;
}

std::vector<Offspring> GeneticSearch::offspring() const {
  std::vector<Offspring> children(options_.population);
  for (std::size_t i = 0; i < children.size(); ++i) {
    Random random(options_.seed, {ga::child, state_.generation, i});
    children[i].parent = state_.parents.empty() ? 0 : random.below(state_.parents.size());
    children[i].seed = random.next();
  }
  return children;
}

Brood GeneticSearch::brood(std::vector<Genome> genomes) const {
  return {.policy = policy_,
          .sigma = options_.sigma,
          .seed = options_.seed,
          .generation = state_.generation,
          .episodes = options_.episodes,
          .genomes = std::move(genomes)};
}

std::vector<double> GeneticSearch::judge(const GeneticEvaluator& evaluator,
                                         std::vector<Genome> genomes,
                                         Trial::Purpose purpose,
                                         std::size_t episodes) const {
  std::vector<Trial> trials;
  for (std::size_t genome = 0; genome < genomes.size(); ++genome)
    for (std::size_t episode = 0; episode < episodes; ++episode)
      trials.push_back({genome, purpose, episode});
  const auto returns = evaluator.trials(brood(std::move(genomes)), trials);
  std::vector<double> means;
  for (std::size_t first = 0; first < trials.size(); first += episodes)
    means.push_back(ga_search::mean(std::span(returns).subspan(first, episodes)));
  return means;
}

CurvePoint& GeneticSearch::step(const GeneticEvaluator& evaluator) {
  const auto children = offspring();
  const auto fitness = evaluator.offspring(brood(state_.parents), children);
  auto next = ga_search::ranked_genomes(state_.parents, children, fitness);

  std::vector<Genome> candidates(
    next.begin(), next.begin() + static_cast<std::ptrdiff_t>(options_.elite_candidates));
  if (!state_.parents.empty()) // The elite defends its place.
    candidates.back() = elite();
  const auto means =
    judge(evaluator, candidates, Trial::Purpose::elite, options_.elite_episodes);
  const auto best = candidates[ga_search::ranked(means)[0]];
  std::erase(next, best);
  next.insert(next.begin(), best);
  next.resize(std::min(options_.parents, next.size()));

  CurvePoint point;
  point.population_mean = ga_search::mean(fitness);
  point.population_best = std::ranges::max(fitness);
  point.episodes = state_.curve.empty() ? 0 : state_.curve.back().episodes;
  point.episodes += children.size() * options_.episodes +
                    candidates.size() * options_.elite_episodes + options_.evaluations;
  point.policy_mean =
    judge(evaluator, {best}, Trial::Purpose::evaluation, options_.evaluations)[0];
  std::optional<double> confirmed;
  if (options_.solved_at && point.policy_mean >= *options_.solved_at) {
    confirmed =
      judge(evaluator, {best}, Trial::Purpose::confirmation, options_.evaluations)[0];
    point.episodes += options_.evaluations;
  }

  point.iteration = ++state_.generation;
  state_.parents = std::move(next);
  state_.solved = confirmed && *confirmed >= *options_.solved_at;
  state_.confirmed_mean = confirmed.value_or(0);
  return state_.curve.emplace_back(point);
}

const Genome& GeneticSearch::elite() const {
  if (state_.parents.empty())
    throw std::logic_error("there is no elite before the first generation");
  return state_.parents.front();
}

std::vector<float> GeneticSearch::elite_parameters() const {
  return GenomeDecoder(policy_, options_.sigma).decode(elite());
}

} // namespace fiber::rl
