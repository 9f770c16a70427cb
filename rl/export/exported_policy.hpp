// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/saved_policy.hpp"
#include "rl/policy/layout.hpp"

namespace fiber::rl::exporting {

/// A layer with the name that it has in a module of PyTorch: "policy.2".
struct Layer {
  std::string name;
  LayerPlace place;
  std::optional<ConvolutionPlace> convolution = {}; ///< Of which `place` is a part.
  bool activated = false;                           ///< The activation follows the layer.

  /// The extents of the weights, as PyTorch has them.
  std::vector<std::size_t> shape() const;
};

/// The LSTM before the last layer of a network, with the name of a torch.nn.LSTM.
struct ExportedLstm {
  std::string name;
  LstmPlace place;
};

/// A FrozenNormaliser in single precision: ((x - mean) - rest) * scale. `rest` is what
/// the float `mean` lacks, so that no digits are lost where the deviation of x is far
/// smaller than its mean.
struct Normalisation {
  std::vector<float> mean, rest, scale;
  std::optional<float> clip; ///< Nothing: no limit.
};

/// A policy as all formats write it: checked, with its layers in the order of their use.
struct ExportedPolicy {
  /// `policy` must outlive the object. Throws as export_policy.hpp says.
  explicit ExportedPolicy(const SavedPolicy& policy);

  std::span<const float> weights(const Layer& layer) const;
  std::span<const float> biases(const Layer& layer) const;
  /// The parameters from one place to another.
  std::span<const float> numbers(std::size_t begin, std::size_t end) const {
    return std::span(saved.parameters).subspan(begin, end - begin);
  }
  std::span<const float> log_std() const;
  bool tanh() const { return saved.spec.activation == Activation::tanh; }

  const SavedPolicy& saved;
  const Spaces& spaces;
  std::size_t log_std_size = 0;
  std::vector<Layer> acting; ///< From the observation to logits or means.
  std::vector<Layer> value;  ///< Those of the value that are not among them.
  std::optional<ExportedLstm> acting_lstm, value_lstm;
  std::optional<Normalisation> normalisation;
};

} // namespace fiber::rl::exporting
