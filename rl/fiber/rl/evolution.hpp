// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fiber::rl {

/// The settings of an evolution strategy.
struct EvolutionOptions {
  std::size_t directions = 256; ///< Each is tried both ways: 512 candidates an iteration.
  float sigma = 0.1f;           ///< How far from the parameters candidates lie.
  double learning_rate = 0.01;
  double weight_decay = 0.0; ///< Draws parameters towards 0; 0: not at all.
  double beta1 = 0.9;        ///< Adam's memory of the gradient,
  double beta2 = 0.999;      ///< of its square,
  double epsilon = 1e-8;     ///< and its guard against division by 0.
};

/// What one direction earned: forwards (parameters + sigma * noise) and backwards.
struct MirroredReturns {
  double plus = 0;
  double minus = 0;
};

/// Everything that changes while an Evolution runs.
struct EvolutionState {
  std::uint64_t iteration = 0;
  std::vector<float> parameters;
  std::vector<double> moment1;
  std::vector<double> moment2;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& iteration& parameters& moment1& moment2;
  }
};

/// Evolution strategies after Salimans et al. 2017 (arXiv 1703.03864): mirrored sampling,
/// a noise table, centred ranks, Adam. It climbs; returns may be on any scale.
///
/// A candidate is named by an offset into the noise table, which whoever evaluates it has
/// as well: eight bytes travel, whatever the number of parameters. ask() and tell() are
/// functions of the seed and the state alone, and tell() sums in the order of the
/// directions, so that a run does not depend on who evaluated what, or when.
///
/// Thread safety: none; one thread at a time.
class Evolution {
public:
  /// Starts at `parameters`. `noise` must outlive the object. Throws
  /// std::invalid_argument if the table is shorter than the parameters, or options make
  /// no sense.
  Evolution(const std::vector<float>& parameters, std::span<const float> noise,
            std::uint64_t seed, EvolutionOptions options = {});

  /// Goes on from a saved state.
  Evolution(EvolutionState state, std::span<const float> noise, std::uint64_t seed,
            EvolutionOptions options);

  /// The offsets of this iteration's directions. The same until tell() is called.
  std::vector<std::uint64_t> ask() const;

  /// Takes the returns of ask()'s directions, in their order, and moves the parameters.
  /// Throws std::invalid_argument if their number is another, or one is not a number.
  void tell(std::span<const MirroredReturns> returns);

  std::span<const float> parameters() const { return state_.parameters; }
  std::uint64_t iteration() const { return state_.iteration; }
  const EvolutionState& state() const { return state_; }
  const EvolutionOptions& options() const { return options_; }

private:
  std::vector<double> gradient(std::span<const MirroredReturns> returns) const;

  EvolutionState state_;
  std::span<const float> noise_;
  std::uint64_t seed_;
  EvolutionOptions options_;
};

/// Ranks from -0.5 (least) to 0.5 (most). Equal values share the mean of their ranks: the
/// order they happen to stand in must not become a direction to climb.
std::vector<double> centred_ranks(std::span<const double> values);

/// `parameters` + `step` * the noise at `offset`. Throws std::out_of_range if the table
/// ends before.
std::vector<float> perturbed(std::span<const float> parameters,
                             std::span<const float> noise, std::uint64_t offset,
                             float step);

/// `size` normal numbers that follow from the seed.
std::vector<float> make_noise_table(std::size_t size, std::uint64_t seed);

} // namespace fiber::rl
