// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/policy.hpp"
#include "rl/poet/evaluation.hpp"
#include "rl/poet/options.hpp"
#include "rl/poet/state.hpp"

namespace fiber::rl::poet {

/// The network of all agents.
PolicySpec policy_of(const PoetOptions& options);

/// Returns the job that tries an agent in an environment. `seed` and `iteration` decide
/// the episodes.
Job job_for(const PoetOptions& options, const EnvironmentParameters& parameters,
            const Agent& agent, std::uint64_t seed, std::uint64_t iteration);

/// The evaluation of a pair as it is, in this iteration's episodes.
Job job_of(const PoetOptions& options, const Pair& pair, std::uint64_t iteration);

/// The paired open-ended trailblazer (Wang, Lehman, Clune and Stanley 2019, arXiv
/// 1901.01753). It keeps pairs of an environment and an agent. In each iteration every
/// agent takes a step of an evolution strategy in its own environment. Now and then
/// agents that do better elsewhere are copied there, and environments get mutated
/// children.
///
/// The result depends on the options alone: neither on where and in which order episodes
/// are played, nor on whether the run was interrupted.
class Poet {
public:
  /// Starts with one pair, on flat ground. `noise` is make_noise_table(
  /// options.table_size, options.seed) and must outlive this. Throws as
  /// PoetOptions::check() does.
  Poet(PoetOptions options, std::span<const float> noise);
  /// Continues from a saved state. Throws std::invalid_argument if it has agents of
  /// another size than the options say.
  Poet(PoetOptions options, std::span<const float> noise, PoetState state);

  /// One iteration: new environments if they are due, a step of each search, transfers if
  /// they are due. Throws what the evaluator throws; the state is unchanged then. `say`
  /// is called with a line about each round of new environments and of transfers.
  void step(Evaluator& evaluator, const std::function<void(std::string)>& say = {});

  bool finished() const { return state_.iteration >= options_.iterations; }
  const PoetState& state() const { return state_; }
  const PoetOptions& options() const { return options_; }

private:
  class Step;

  PoetOptions options_;
  std::span<const float> noise_;
  PoetState state_;
};

} // namespace fiber::rl::poet
