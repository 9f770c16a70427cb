// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rl/poet/environment_parameters.hpp"
#include "rl/poet/options.hpp"
#include "rl/poet/state.hpp"

namespace fiber::rl::poet {

/// An agent that may come to an environment.
struct Candidate {
  std::uint64_t from = 0; ///< The environment that it comes from.
  Way way = Way::none;
  double score = 0; ///< In the environment that it may come to.
  Agent agent = {};
};

/// A mutated environment that may be admitted.
struct Child {
  std::uint64_t parent = 0;
  std::uint64_t seed = 0;
  EnvironmentParameters parameters = {};
  double parents_score = 0; ///< Of the parent's agent in it.
};

/// Whether an environment in which an agent has this score is neither too hard nor too
/// easy: the minimal criterion.
bool meets_criterion(const PoetOptions& options, double score);

/// The positions of the pairs that may have children: those with a score of reproduce_at
/// or more.
std::vector<std::size_t> parents(const PoetOptions& options, std::span<const Pair> pairs);

/// Mutated children of these parents, drawn at random; none that is in the archive, and
/// none twice. They follow from the seed and the iteration.
std::vector<Child> make_children(const PoetOptions& options, const PoetState& state,
                                 std::span<const std::size_t> parents);

/// The children that meet the criterion with their parent's agent, the most novel first.
std::vector<Child> ranked(const PoetOptions& options, std::vector<Child> children,
                          std::span<const EnvironmentParameters> archive);

/// The candidate with the greatest score, the first of equal ones; null if there is none.
const Candidate* best(std::span<const Candidate> candidates);

/// Gives a pair the candidate's agent, whose search begins anew, if its score is greater
/// than the pair's. Returns whether it did.
bool replace_if_better(Pair& pair, const Candidate& candidate, std::uint64_t iteration);

/// Removes the oldest pairs until there are `most` at most, and returns them.
std::vector<Pair> retire(std::vector<Pair>& pairs, std::size_t most);

/// An agent that goes on with the same parameters and observations: the optimiser's
/// moments, sigma and the learning rate begin anew.
Agent renewed(const Agent& agent);

} // namespace fiber::rl::poet
