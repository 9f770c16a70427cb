// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/serialization/version.hpp>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl {

enum class Activation { tanh, relu };

/// The architecture of a policy's networks. Equal specs take the same parameters.
///
/// Without `convolution` the policy and the value have separate networks, with the same
/// hidden layers. With it, one trunk serves both: the convolutions of Mnih et al. 2015
/// (32 of 8x8 stride 4, 64 of 4x4 stride 2, 64 of 3x3 stride 1, without padding), then
/// the hidden layers. Policy and value then have one linear output layer each.
/// `convolution` needs observations of the shape {channels, height, width}, at least
/// 36 x 36.
///
/// With `lstm` the policy is recurrent: an LSTM (Hochreiter and Schmidhuber 1997) stands
/// between the hidden layers and the linear output, one in the policy's network and one
/// in the value's. It needs observations without `convolution`. What it remembers of an
/// episode is PolicyContext::memory.
///
/// The policy's outputs are logits of the discrete actions, of each choice of each
/// component of multi-discrete ones, or the means of a Gaussian for each component of
/// continuous ones. Components are independent of each other, so the logarithms of their
/// probabilities add up. Its log standard deviations are parameters
/// that do not depend on the observation (Huang et al. 2022, continuous control, detail
/// 2).
struct PolicySpec {
  Spaces spaces;
  std::vector<std::size_t> hidden = {64, 64}; ///< Empty: linear.
  Activation activation = Activation::tanh;
  bool convolution = false;
  float observation_scale = 1; ///< Multiplies observations; 1 / 255 for images of bytes.
  std::size_t lstm = 0;        ///< The units of each LSTM. 0: the policy has no memory.

  /// The number of logits, or of means.
  std::size_t outputs() const;
  /// The number of floats that a recurrent policy remembers of an episode, 4 * lstm: the
  /// output and the cell of the policy's LSTM, then those of the value's. 0 without
  /// `lstm`.
  std::size_t memory_size() const { return 4 * lstm; }
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
  /// An LSTM has its parameters where it is used, before the last layer of its network,
  /// in the order of torch.nn.LSTM: the weights of its input {4 * lstm, inputs}, those of
  /// its last output {4 * lstm, lstm}, and two vectors of 4 * lstm biases, which are
  /// added. The rows are those of the input gate, the forget gate, the cell and the
  /// output gate.
  ///
  /// This is the order of parameters() of a LibTorch module that registers the parameter
  /// `log_std` and then nn::Sequential modules as listed.
  std::size_t parameter_count() const;
  /// Throws std::invalid_argument, saying what is wrong, if there is no such network.
  void check() const;
  /// In words, in one line: "4 -> 64 -> 64 -> 2 logits, tanh"; the logits of
  /// multi-discrete and masked actions are "3+2 logits", "64 masked logits".
  std::string describe() const;

  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned version) {
    archive& spaces& hidden& activation& convolution& observation_scale;
    if (version > 0)
      archive& lstm;
  }
};

/// The usual spec for spaces: the Nature network (one hidden layer of 512, relu) for
/// observations of the shape {channels, height, width}, and {64, 64} with tanh for
/// others.
PolicySpec default_policy(const Spaces& spaces);

/// Initial parameters: orthogonal weights (Saxe et al. 2014) with the gain sqrt(2), 0.01
/// for the layer to logits or means, 1 for the layer to the value and both weights of an
/// LSTM; biases and log standard deviations are 0 (Huang et al. 2022, core detail 2, LSTM
/// detail 1). They follow from `seed`.
std::vector<float> initial_parameters(const PolicySpec& spec, std::uint64_t seed);

/// The key of a row's random numbers: Random(seed, {step, id of the row}). So an action
/// depends neither on the other rows nor on where it is sampled.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::span<const int> env_ids = {}; ///< The id of each row; empty: 0, 1, 2 ...
};

/// What a policy needs to know of rows besides their observations.
struct PolicyContext {
  /// Spaces::masked only: which actions are possible, see Batch::masks.
  std::span<const std::uint8_t> masks = {};
  /// A recurrent policy only: what it remembers of each row's episode,
  /// PolicySpec::memory_size() floats for each. At the start of an episode they are 0.
  std::span<float> memory = {};
};

/// An output of a policy is not finite, although the observation is: the parameters are
/// not, or are too large.
class PolicyOverflow : public std::domain_error {
public:
  using std::domain_error::domain_error;
};

/// Runs a policy and its value function on batches of observations, on one thread, with
/// Eigen. The results agree with LibTorch's forward pass to about 1e-5. The number of
/// rows in a batch changes the last bits at most.
///
/// A returned span is valid until the next call that computes the same quantity. After
/// the first call with the largest batch, the class allocates no more memory.
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
  /// there are spec().parameter_count() of them.
  void set_parameters(std::span<const float> parameters);
  std::span<const float> parameters() const;
  const PolicySpec& spec() const;
  /// The log standard deviations; empty for discrete actions.
  std::span<const float> log_std() const;

  struct Outputs {
    std::size_t rows = 0;
    /// Logits or means, rows * spec().outputs(). The logit of a choice that a mask
    /// forbids is -infinity.
    std::span<const float> policy;
    std::span<const float> values; ///< One a row.
  };
  /// Evaluates policy and value for observations, one after another. Throws
  /// std::invalid_argument unless `observations` are whole observations, unless
  /// `context.masks` has Spaces::mask_size() bytes for each, for a mask that forbids each
  /// choice of a component, and unless `context.memory` is that of a recurrent policy for
  /// each. Values need no masks. The memory stays as it is. If a number is not finite it
  /// throws an error that names the first such row: std::domain_error for observations,
  /// PolicyOverflow for outputs.
  Outputs evaluate(std::span<const float> observations,
                   const PolicyContext& context = {});
  /// Evaluates the policy only.
  std::span<const float> evaluate_policy(std::span<const float> observations,
                                         const PolicyContext& context = {});
  /// Evaluates the values only, for example to bootstrap truncated episodes.
  std::span<const float> evaluate_values(std::span<const float> observations,
                                         const PolicyContext& context = {});

  struct Decisions {
    std::size_t rows = 0;
    std::span<const float> actions; ///< rows * action_size(). Not limited to the bounds
                                    ///< of continuous actions: see limit_actions().
    std::span<const float> log_probabilities; ///< Of these actions, one a row.
    std::span<const float> values;            ///< One a row.
  };
  /// Samples an action for each observation. A recurrent policy remembers the observation
  /// in `context.memory`, which the caller sets to 0 where an episode ends. Throws as
  /// evaluate() does, and std::invalid_argument unless key.env_ids is empty or has one id
  /// for each row.
  Decisions sample(std::span<const float> observations, const SampleKey& key,
                   const PolicyContext& context = {});
  /// The most probable action for each observation: that of the largest logit (the first
  /// of equal ones), in each component, or the means. Remembers and throws as sample()
  /// does.
  std::span<const float> best(std::span<const float> observations,
                              const PolicyContext& context = {});

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl

BOOST_CLASS_VERSION(fiber::rl::PolicySpec, 1)
