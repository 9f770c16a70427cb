// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/selection.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "fiber/rl/random.hpp"
#include "rl/poet/keys.hpp"

namespace fiber::rl::poet {

bool meets_criterion(const PoetOptions& options, double score) {
  return score >= options.min_return && score <= options.max_return;
}

std::vector<std::size_t> parents(const PoetOptions& options,
                                 std::span<const Pair> pairs) {
  std::vector<std::size_t> able;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (pairs[i].score >= options.reproduce_at)
      able.push_back(i);
  return able;
}

std::vector<Child> make_children(const PoetOptions& options, const PoetState& state,
                                 std::span<const std::size_t> parents) {
  std::vector<Child> children;
  const auto known = [&](const EnvironmentParameters& parameters) {
    return std::ranges::find(state.archive, parameters) != state.archive.end() ||
           std::ranges::find(children, parameters, &Child::parameters) != children.end();
  };
  for (std::uint64_t i = 0; i < options.children && !parents.empty(); ++i) {
    Random random(options.seed, {keys::child, state.iteration, i});
    const auto& parent = state.pairs[parents[random.below(parents.size())]].niche;
    Child child;
    child.parent = parent.id;
    child.parameters = mutated(parent.parameters, options.genes, random);
    child.seed = random.next();
    if (!known(child.parameters))
      children.push_back(std::move(child));
  }
  return children;
}

std::vector<Child> ranked(const PoetOptions& options, std::vector<Child> children,
                          std::span<const EnvironmentParameters> archive) {
  std::erase_if(children, [&](const Child& child) {
    return !meets_criterion(options, child.parents_score);
  });
  std::ranges::stable_sort(children, std::greater(), [&](const Child& child) {
    return novelty(child.parameters, archive, options.neighbours);
  });
  return children;
}

const Candidate* best(std::span<const Candidate> candidates) {
  const auto found = std::ranges::max_element(candidates, {}, &Candidate::score);
  return found == candidates.end() ? nullptr : &*found;
}

bool replace_if_better(Pair& pair, const Candidate& candidate, std::uint64_t iteration) {
  if (!(candidate.score > pair.score))
    return false;
  pair.agent = renewed(candidate.agent);
  pair.search_began = iteration;
  pair.score = candidate.score;
  return true;
}

std::vector<Pair> retire(std::vector<Pair>& pairs, std::size_t most) {
  std::vector<Pair> retired;
  while (pairs.size() > most) {
    retired.push_back(std::move(pairs.front()));
    pairs.erase(pairs.begin());
  }
  return retired;
}

Agent renewed(const Agent& agent) {
  const auto size = agent.search.parameters.size();
  return {.search = {.iteration = 0,
                     .parameters = agent.search.parameters,
                     .moment1 = std::vector<double>(size),
                     .moment2 = std::vector<double>(size)},
          .observations = agent.observations};
}

} // namespace fiber::rl::poet
