// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fiber::rl {

/// How an Evolution moves the parameters along its estimate of the gradient.
enum class Optimiser : std::uint8_t {
  adam,
  /// parameters += learning_rate * the mean of weight * noise over the directions that
  /// count. As in Mania et al. 2018, sigma does not divide the step.
  sgd
};

/// The settings of an evolution strategy.
struct EvolutionOptions {
  std::size_t directions = 256; ///< Each is tried both ways: 512 candidates an iteration.
  float sigma = 0.1f;           ///< The standard deviation of the perturbations.
  double learning_rate = 0.01;
  Optimiser optimiser = Optimiser::adam;
  /// Only so many directions count: those with the best candidates. 0: all.
  std::size_t top = 0;
  /// The weight of a direction is the difference of its returns, divided by the standard
  /// deviation of all returns that count. False: the difference of their centred ranks.
  bool normalise_by_deviation = false;
  double weight_decay = 0.0; ///< Pulls parameters towards 0; 0: none.
  double beta1 = 0.9;        ///< Adam's decay rate of the mean gradient.
  double beta2 = 0.999;      ///< Adam's decay rate of the mean square.
  double epsilon = 1e-8;     ///< Adam's guard against division by 0.
};

/// The returns of one direction's two candidates: `plus` of parameters + sigma * noise,
/// `minus` of parameters - sigma * noise.
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
/// a noise table, centred ranks, Adam. It maximises the return, which may have any scale.
/// With the options `sgd`, `top` and `normalise_by_deviation` the update is that of
/// augmented random search (Mania, Guy and Recht 2018, arXiv 1803.07055).
///
/// An offset into the noise table identifies a direction. Workers have the same table, so
/// a direction costs eight bytes to send, whatever the number of parameters. ask() and
/// tell() depend only on the seed, the state and the returns, and tell() sums in the
/// order of the directions. So a run does not depend on which worker evaluated what, or
/// when.
///
/// Thread safety: none; one thread at a time.
class Evolution {
public:
  /// Starts at `parameters`. `noise` must outlive the object. Throws
  /// std::invalid_argument if the table is shorter than the parameters, or if an option
  /// is out of its range.
  Evolution(const std::vector<float>& parameters, std::span<const float> noise,
            std::uint64_t seed, EvolutionOptions options = {});

  /// Continues from a saved state.
  Evolution(EvolutionState state, std::span<const float> noise, std::uint64_t seed,
            EvolutionOptions options);

  /// The offsets of this iteration's directions. The same until tell() is called.
  std::vector<std::uint64_t> ask() const;

  /// Takes the returns of ask()'s directions, in the same order, and updates the
  /// parameters. Throws std::invalid_argument for another number of returns, or if one is
  /// not finite.
  void tell(std::span<const MirroredReturns> returns);

  std::span<const float> parameters() const { return state_.parameters; }
  std::uint64_t iteration() const { return state_.iteration; }
  const EvolutionState& state() const { return state_; }
  const EvolutionOptions& options() const { return options_; }

private:
  /// Those that count, in their order.
  std::vector<std::size_t> counting(std::span<const MirroredReturns> returns) const;
  std::vector<double> gradient(std::span<const MirroredReturns> returns) const;
  void move(std::span<const double> slope);

  EvolutionState state_;
  std::span<const float> noise_;
  std::uint64_t seed_;
  EvolutionOptions options_;
};

/// Ranks from -0.5 (least) to 0.5 (most). Equal values share the mean of their ranks, so
/// that the order in which they stand does not influence the gradient.
std::vector<double> centred_ranks(std::span<const double> values);

/// `parameters` + `step` * the noise at `offset`. Throws std::out_of_range if the table
/// is too short for that.
std::vector<float> perturbed(std::span<const float> parameters,
                             std::span<const float> noise, std::uint64_t offset,
                             float step);

/// `size` normal numbers that follow from the seed.
std::vector<float> make_noise_table(std::size_t size, std::uint64_t seed);

} // namespace fiber::rl
