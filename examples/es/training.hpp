// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "es/evaluation.hpp"
#include "es/optimizer.hpp"

namespace es {

/// All that decides what a training run computes. Who evaluates, and how many at a time,
/// is not part of it.
struct TrainingOptions {
  std::string environment;
  std::uint64_t seed = 1;
  std::size_t iterations = 0;    ///< At most so many.
  std::size_t hidden = 16;       ///< Hidden units of the policy.
  std::size_t episodes = 16;     ///< Episodes a candidate is judged by.
  std::size_t table_size = 0;    ///< Numbers in the noise table.
  std::size_t evaluations = 100; ///< Episodes the policy is judged by.
  OptimizerOptions optimizer;

  /// One line that names every option that must not change when a run is resumed;
  /// `iterations` may.
  std::string fingerprint() const;
};

/// Good settings for an environment. Throws std::invalid_argument if there is none of the
/// name.
TrainingOptions training_options(const std::string& environment);

/// One line of the learning curve.
struct CurvePoint {
  std::uint64_t iteration = 0;
  double population_mean = 0; ///< Of the candidates' mean returns;
  double population_best = 0; ///< the best of them.
  double policy_mean = 0;     ///< Mean return of the policy itself, in fresh episodes.
  double seconds = 0;         ///< Since the start, resumed runs added up.
  std::uint64_t episodes = 0; ///< Played so far.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& iteration& population_mean& population_best& policy_mean& seconds& episodes;
  }
};

/// Whatever can play many episodes at once: a pool, or a plain loop. Results stand in the
/// order of what was asked for.
struct Evaluator {
  std::function<std::vector<MirroredReturns>(const Generation&,
                                             const std::vector<std::uint64_t>& offsets)>
    directions;
  /// Episodes 0 to count - 1 of the unperturbed policy.
  std::function<std::vector<double>(const Generation&, Use, std::uint64_t count)> policy;
};

/// Everything a run needs to go on where it stopped.
struct TrainingState {
  OptimizerState optimizer;
  std::vector<CurvePoint> curve;
  bool solved = false;
  double confirmed_mean = 0; ///< If solved: mean return in the confirming episodes.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& optimizer& curve& solved& confirmed_mean;
  }
};

/// Trains a policy, one iteration a call. What it computes follows from the options
/// alone.
class Training {
public:
  /// `noise` is make_noise_table(options.table_size, options.seed) and must outlive this.
  Training(TrainingOptions options, std::span<const float> noise);
  /// Goes on from a saved state of the same options.
  Training(TrainingOptions options, std::span<const float> noise, TrainingState state);

  /// True when solved, or when the iterations are used up.
  bool finished() const;

  /// Runs an iteration: evaluates the candidates, moves the policy, evaluates it. If it
  /// reaches the environment's mark, it has to do so again in as many other episodes, or
  /// trying once an iteration would turn luck into success.
  CurvePoint& step(const Evaluator& evaluator);

  const TrainingOptions& options() const { return options_; }
  PolicyShape shape() const { return shape_; }
  const TrainingState& state() const { return state_; }
  std::span<const float> parameters() const { return state_.optimizer.parameters; }

private:
  Generation generation() const;

  TrainingOptions options_;
  PolicyShape shape_;
  std::optional<double> mark_;
  std::span<const float> noise_;
  TrainingState state_;
};

/// Evaluates one after another, in the calling thread.
Evaluator serial_evaluator(std::span<const float> noise);

} // namespace es
