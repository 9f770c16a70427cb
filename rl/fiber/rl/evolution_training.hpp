// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/evolution.hpp"
#include "fiber/rl/evolution_evaluation.hpp"
#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/policy.hpp"

namespace fiber::rl {

/// All options that decide the result of a training run. The evaluator and its number of
/// workers do not influence the result.
struct EvolutionTrainingOptions {
  std::string environment; ///< Its name, in files and messages.
  std::uint64_t seed = 1;
  std::size_t iterations = 200;           ///< The maximum.
  std::vector<std::size_t> hidden = {16}; ///< tanh units in each hidden layer.
  std::size_t episodes = 1;               ///< Episodes that each candidate plays.
  std::size_t evaluations = 100;          ///< Episodes that evaluate the policy.
  std::size_t evaluate_every = 1;         ///< Iterations from one evaluation to the next.
  std::size_t table_size = std::size_t{1} << 22; ///< Numbers in the noise table.
  bool normalise = false;      ///< Normalise observations by their running moments.
  double counted_share = 0.05; ///< Share of directions that add to the moments.
  /// Limit of normalised observations; may be infinite. 5 is that of Salimans et al.'s
  /// code.
  double observation_clip = 5;
  /// A linear policy without biases, whose weights start at 0. `hidden` must be empty.
  bool weights_only = false;
  /// Added to each reward of the candidates, not of evaluations: -1 cancels a bonus of 1
  /// for each step that a robot is alive.
  double alive_bonus_offset = 0;
  std::optional<double> solved_at; ///< The mean return that ends the training.
  EvolutionOptions search;

  /// Every option that must not change when a run is resumed, for FileLabel::settings;
  /// `iterations` may.
  std::map<std::string, std::string> settings() const;
};

/// Settings for an environment of this library. docs/rl/evolution-strategies.md says
/// which have been tried, with what results. Other names get general settings.
EvolutionTrainingOptions evolution_options(const std::string& environment);

/// Augmented random search (Mania et al. 2018). V2 normalises observations, by the
/// moments of all that were seen; in V1-t and V2-t only the best directions count.
enum class ArsVariant : std::uint8_t { v1, v1_t, v2, v2_t };

/// Settings of augmented random search for an environment: those of the paper and of RL
/// Zoo for the robots of MuJoCo, general ones for others. Without a variant: V1 for
/// swimmer, V2-t for others.
EvolutionTrainingOptions ars_options(const std::string& environment,
                                     std::optional<ArsVariant> variant = {});

/// One line of the learning curve.
struct CurvePoint {
  std::uint64_t iteration = 0;
  double population_mean = 0; ///< The mean of the candidates' mean returns.
  double population_best = 0; ///< The best candidate's mean return.
  /// Mean return of the policy itself, in fresh episodes. Not a number if this iteration
  /// was not one that evaluates it: see evaluate_every.
  double policy_mean = 0;
  double seconds = 0;         ///< Since the start, added up over resumed runs.
  std::uint64_t episodes = 0; ///< Played so far.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& iteration& population_mean& population_best& policy_mean& seconds& episodes;
  }
};

/// The functions that play the episodes: on a pool, or in a plain loop. Results are in
/// the order of the offsets or episodes.
struct EvolutionEvaluator {
  std::function<std::vector<DirectionResult>(const Generation&,
                                             const std::vector<std::uint64_t>& offsets)>
    directions;
  /// Episodes 0 to count - 1 of the unperturbed policy.
  std::function<std::vector<double>(const Generation&, Judgement, std::uint64_t count)>
    policy;
};

/// The checkpoint of a run.
struct EvolutionTrainingState {
  EvolutionState search;
  RunningMoments observations; ///< Empty unless they are normalised.
  std::vector<CurvePoint> curve;
  bool solved = false;
  double confirmed_mean = 0; ///< If solved: mean return in the confirming episodes.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& search& observations& curve& solved& confirmed_mean;
  }
};

/// Trains a policy, one iteration for each call of step(). The result depends on the
/// options alone.
class EvolutionTraining {
public:
  /// `spaces` are those of the environment. `noise` is make_noise_table(
  /// options.table_size, options.seed) and must outlive this. Throws
  /// std::invalid_argument for options that are out of their ranges.
  EvolutionTraining(EvolutionTrainingOptions options, const Spaces& spaces,
                    std::span<const float> noise);
  /// Continues from a saved state of the same options. Throws std::invalid_argument if
  /// the state has another number of parameters.
  EvolutionTraining(EvolutionTrainingOptions options, const Spaces& spaces,
                    std::span<const float> noise, EvolutionTrainingState state);

  /// True when solved, or when the iterations are used up.
  bool finished() const;

  /// Runs an iteration: evaluates the candidates, updates the policy and, if it is the
  /// turn of this iteration or the iteration is the last, evaluates it. A policy that
  /// reaches `solved_at` must reach it again in as many other episodes.
  /// Otherwise one lucky evaluation among many iterations would count as success. Throws
  /// what the evaluator throws; then nothing has changed.
  CurvePoint& step(const EvolutionEvaluator& evaluator);

  /// What evaluations of the present policy and of its candidates need.
  Generation generation() const;

  const EvolutionTrainingOptions& options() const { return options_; }
  const PolicySpec& policy() const { return policy_; }
  const EvolutionTrainingState& state() const { return state_; }
  std::span<const float> parameters() const { return state_.search.parameters; }

private:
  FrozenNormaliser normaliser() const;
  /// Fills in the number of the iteration and of its episodes, and in its turn the mean
  /// return of the present policy.
  void judge(const EvolutionEvaluator& evaluator, CurvePoint& point);

  EvolutionTrainingOptions options_;
  PolicySpec policy_;
  std::span<const float> noise_;
  EvolutionTrainingState state_;
};

/// Evaluates one candidate after another, in the calling thread. `environment` and
/// `noise` must outlive the result.
EvolutionEvaluator serial_evaluator(AnyEnvironment& environment,
                                    std::span<const float> noise);

} // namespace fiber::rl
