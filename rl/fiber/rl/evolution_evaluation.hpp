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

/// The network that an evolution strategy finds parameters for: the policy of a
/// PolicySpec, without its value function and its standard deviations.
PolicySpec evolved_policy(const Spaces& spaces, std::vector<std::size_t> hidden);

/// The number of its parameters. They are a contiguous part of those of the spec, and in
/// the same order.
std::size_t evolved_parameter_count(const PolicySpec& spec);

/// Parameters to begin from, which follow from the seed.
std::vector<float> initial_evolved_parameters(const PolicySpec& spec, std::uint64_t seed);

/// A policy, and all that it needs to act.
class EvolvedPolicy {
public:
  /// Throws std::invalid_argument unless there are evolved_parameter_count() parameters.
  EvolvedPolicy(const PolicySpec& spec, std::span<const float> parameters,
                FrozenNormaliser normaliser);

  /// Replaces the parameters. Throws as the constructor does.
  void set_parameters(std::span<const float> parameters);

  /// What to do: the discrete action with the greatest output, of equal ones the first;
  /// or the outputs, clipped into the bounds of a continuous action. `observation` is
  /// raw. The result is what AnyEnvironment::step() takes, and valid until the next call.
  std::span<const float> act(std::span<const float> observation);

  /// The parameters of a Policy of the spec that does the same: PolicySpec says their
  /// order. Those of the value function and of the standard deviations are 0.
  std::span<const float> spec_parameters() const { return all_; }

private:
  std::vector<float> all_; ///< See spec_parameters().
  Policy network_;
  FrozenNormaliser normaliser_;
  std::vector<float> input_, action_;
};

/// What all evaluations of one iteration have in common. Sent once to each job; a task
/// then is one number.
struct Generation {
  PolicySpec policy;
  std::uint64_t seed = 0;
  std::uint64_t iteration = 0;
  std::size_t episodes = 1; ///< Episodes a candidate is judged by.
  float sigma = 0;
  /// The share of directions whose observations are counted.
  double counted_share = 0;
  FrozenNormaliser normaliser;
  std::vector<float> parameters;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& policy& seed& iteration& episodes& sigma& counted_share& normaliser&
      parameters;
  }
};

/// What evaluating one direction gave.
struct DirectionResult {
  MirroredReturns returns;
  RunningMoments seen; ///< Empty for most directions: see counted_share.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& returns.plus& returns.minus& seen;
  }
};

/// Which episodes judge the policy; training uses neither.
enum class Judgement : std::uint8_t { evaluation, confirmation };

/// The sum of rewards of one episode from this seed. `seen` counts its observations.
double rollout(AnyEnvironment& environment, EvolvedPolicy& policy, std::uint64_t seed,
               RunningMoments* seen = nullptr);

/// The mean returns of the two candidates at an offset of the noise table. Both play
/// episodes with the same seeds, so that they differ by what they do, not by their luck.
/// Which directions count their observations follows from seed, iteration and offset.
/// Throws std::invalid_argument if the environment has other spaces than the policy.
DirectionResult evaluate_direction(AnyEnvironment& environment,
                                   const Generation& generation,
                                   std::span<const float> noise, std::uint64_t offset);

/// The return of the unperturbed policy in one episode that no training uses.
/// Throws as evaluate_direction() does.
double evaluate_policy(AnyEnvironment& environment, const Generation& generation,
                       Judgement judgement, std::uint64_t episode);

} // namespace fiber::rl
