// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl {

enum class Activation { tanh, relu };

/// What a policy's networks look like. Two specs that are equal take the same parameters.
///
/// Without `convolution` there are two networks of the same hidden layers, one for the
/// policy and one for the value, that share nothing. With it, one trunk serves both: the
/// convolutions of Mnih et al. 2015 (32 of 8x8 stride 4, 64 of 4x4 stride 2, 64 of 3x3
/// stride 1, none padded), then the hidden layers, then one linear layer each. It needs
/// observations of the shape {channels, height, width}, at least 36 x 36.
///
/// The policy's outputs are logits of the discrete actions, or the means of a Gaussian
/// for each component of a continuous one. Its log standard deviations are parameters
/// that do not depend on the observation (Huang et al. 2022, continuous control, detail
/// 2).
struct PolicySpec {
  Spaces spaces;
  std::vector<std::size_t> hidden = {64, 64}; ///< Empty: linear.
  Activation activation = Activation::tanh;
  bool convolution = false;
  float observation_scale = 1; ///< Multiplies observations; 1 / 255 for images of bytes.

  /// The number of logits, or of means.
  std::size_t outputs() const;
  /// The number of floats in the flat vector of all parameters:
  ///
  ///   1. for continuous actions, the log standard deviations;
  ///   2. without convolution: the layers of the policy's network, then those of the
  ///      value's;
  ///      with convolution: the three convolutions, the hidden layers, the layer to the
  ///      logits or means, the layer to the value.
  ///
  /// A layer is its weights, then its biases. Weights are row-major: {outputs, inputs}
  /// for a linear layer, {outputs, inputs, height, width} for a convolution. The last
  /// convolution's output enters the hidden layers in the order {channel, row, column}.
  ///
  /// This is the order of parameters() of a LibTorch module that registers the parameter
  /// `log_std` and then nn::Sequential modules as listed.
  std::size_t parameter_count() const;
  /// Throws std::invalid_argument, saying what is wrong, if there is no such network.
  void check() const;
  /// In words, in one line: "4 -> 64 -> 64 -> 2 logits, tanh".
  std::string describe() const;

  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& spaces& hidden& activation& convolution& observation_scale;
  }
};

/// The usual spec for spaces: the Nature network (one hidden layer of 512, relu) for
/// observations of the shape {channels, height, width}, and {64, 64} with tanh for
/// others.
PolicySpec default_policy(const Spaces& spaces);

/// Parameters to begin from: orthogonal weights (Saxe et al. 2014) with the gain sqrt(2),
/// 0.01 for the layer to logits or means, 1 for the layer to the value; biases and log
/// standard deviations are 0 (Huang et al. 2022, core detail 2). They follow from `seed`.
std::vector<float> initial_parameters(const PolicySpec& spec, std::uint64_t seed);

/// Names a row's draw: Random(seed, {step, id of the row}). So what an environment's
/// agent does depends neither on the other rows nor on where it is drawn.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::span<const int> env_ids = {}; ///< The id of each row; empty: 0, 1, 2 ...
};

/// Runs a policy and its value function on batches of observations, on one thread, with
/// Eigen. The results agree with LibTorch's forward pass to about 1e-5, and depend on the
/// number of rows in a batch in the last bits at most.
///
/// All spans that it returns are valid until its next call that computes the same; after
/// the first call with the largest batch nothing of its own is allocated.
///
/// Thread safety: none; each thread makes its own.
class Policy {
public:
  /// Throws as PolicySpec::check() and set_parameters() do.
  Policy(PolicySpec spec, std::span<const float> parameters);
  ~Policy();
  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;

  /// Copies new parameters. Throws std::invalid_argument, naming both numbers, unless
  /// there are spec().parameter_count().
  void set_parameters(std::span<const float> parameters);
  std::span<const float> parameters() const;
  const PolicySpec& spec() const;
  /// The log standard deviations; empty for discrete actions.
  std::span<const float> log_std() const;

  struct Outputs {
    std::size_t rows = 0;
    std::span<const float> policy; ///< Logits or means, rows * spec().outputs().
    std::span<const float> values; ///< One a row.
  };
  /// Both networks, for observations that stand one after another. Throws
  /// std::invalid_argument unless these are whole observations, and std::domain_error,
  /// naming the first such row, if an output is not finite.
  Outputs evaluate(std::span<const float> observations);
  /// The policy's outputs alone.
  std::span<const float> evaluate_policy(std::span<const float> observations);
  /// The values alone, as for the observations that episodes ended with.
  std::span<const float> evaluate_values(std::span<const float> observations);

  struct Decisions {
    std::size_t rows = 0;
    std::span<const float> actions; ///< rows * action_size(). Not limited to the bounds
                                    ///< of continuous actions: see limit_actions().
    std::span<const float> log_probabilities; ///< Of these actions, one a row.
    std::span<const float> values;            ///< One a row.
  };
  /// Draws an action for each observation. Throws as evaluate() does, and
  /// std::invalid_argument if there is another number of ids.
  Decisions sample(std::span<const float> observations, const SampleKey& key);
  /// The most probable action for each observation: the first of the largest logits, or
  /// the means. Throws as evaluate() does.
  std::span<const float> best(std::span<const float> observations);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl
