// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/evolution.hpp"
#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/policy.hpp"

namespace fiber::rl {

/// The network that an evolution strategy trains: the policy of a PolicySpec, without its
/// value function and its standard deviations.
PolicySpec evolved_policy(const Spaces& spaces, std::vector<std::size_t> hidden);

/// The number of parameters that an evolution strategy trains. They are a contiguous part
/// of the spec's parameters, in the same order.
std::size_t evolved_parameter_count(const PolicySpec& spec);

/// The same without biases, for a linear policy. Throws std::invalid_argument for a
/// policy with hidden layers.
std::size_t evolved_weight_count(const PolicySpec& spec);

/// Initial parameters, which follow from the seed.
std::vector<float> initial_evolved_parameters(const PolicySpec& spec, std::uint64_t seed);

/// A deterministic policy with its observation normaliser.
class EvolvedPolicy {
public:
  /// Throws std::invalid_argument unless there are evolved_parameter_count() parameters.
  /// A linear policy may have only its weights, evolved_weight_count() of them: then its
  /// biases are 0.
  EvolvedPolicy(const PolicySpec& spec, std::span<const float> parameters,
                FrozenNormaliser normaliser);

  /// Replaces the parameters. Throws as the constructor does.
  void set_parameters(std::span<const float> parameters);

  /// Chooses an action: the discrete action with the greatest output (the first of equal
  /// ones), or the outputs, clipped to the bounds of a continuous action. `observation`
  /// is not normalised yet. `mask` says which actions are possible, see
  /// AnyEnvironment::mask(); it is empty unless actions are masked. The result is an
  /// action for AnyEnvironment::step(), and valid until the next call.
  std::span<const float> act(std::span<const float> observation,
                             std::span<const std::uint8_t> mask = {});

  /// The parameters of a Policy of the same spec that takes the same actions, in the
  /// order that PolicySpec documents. Those of the value function and of the standard
  /// deviations are 0.
  std::span<const float> spec_parameters() const { return all_; }
  /// All evolved_parameter_count() parameters of the network.
  std::span<const float> network_parameters() const;

private:
  std::vector<float> all_; ///< See spec_parameters().
  Policy network_;
  FrozenNormaliser normaliser_;
  std::vector<float> input_, action_;
};

/// What all evaluations of one iteration have in common. It is sent once to each job, so
/// that a task is a single number.
struct Generation {
  PolicySpec policy;
  std::uint64_t seed = 0;
  std::uint64_t iteration = 0;
  std::size_t episodes = 1; ///< Episodes that each candidate plays.
  float sigma = 0;
  /// The share of directions whose observations are added to the normalisation
  /// statistics.
  double counted_share = 0;
  double alive_bonus_offset = 0; ///< Added to each reward of the candidates.
  FrozenNormaliser normaliser;
  std::vector<float> parameters;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& policy& seed& iteration& episodes& sigma& counted_share& alive_bonus_offset&
      normaliser& parameters;
  }
};

/// The result of evaluating one direction.
struct DirectionResult {
  MirroredReturns returns;
  RunningMoments seen; ///< Empty for most directions: see counted_share.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& returns.plus& returns.minus& seen;
  }
};

/// Which episodes evaluate the policy. Training uses neither kind.
enum class Judgement : std::uint8_t { evaluation, confirmation };

/// An episode of evolution strategies must end before it has more steps than this.
inline constexpr std::size_t max_rollout_steps = 100'000;

/// Plays one episode from this seed and returns the sum of its rewards, each with
/// `offset` added. Adds the observations to `seen`, if that is given.
///
/// An episode whose physics diverges (PhysicsDiverged) ends there.
///
/// Throws std::domain_error for an observation or a reward that is not finite, and
/// std::runtime_error for an episode that does not end. Both name the episode's seed.
double rollout(AnyEnvironment& environment, EvolvedPolicy& policy, std::uint64_t seed,
               RunningMoments* seen = nullptr, double offset = 0);

/// The mean returns of the two candidates at an offset of the noise table. Both play
/// episodes with the same seeds (common random numbers), which reduces the variance of
/// their difference. Seed, iteration and offset decide whether a direction reports its
/// observations. Throws std::invalid_argument if the environment has other spaces than
/// the policy.
DirectionResult evaluate_direction(AnyEnvironment& environment,
                                   const Generation& generation,
                                   std::span<const float> noise, std::uint64_t offset);

/// The return of the unperturbed policy in one episode that no training uses.
/// Throws as evaluate_direction() does.
double evaluate_policy(AnyEnvironment& environment, const Generation& generation,
                       Judgement judgement, std::uint64_t episode);

} // namespace fiber::rl
