// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fiber/rl/policy.hpp"

namespace fiber::rl {

/// Where a layer's numbers are in the flat vector of parameters: weights {outputs,
/// inputs}, row-major, from `offset`, then biases.
struct LayerPlace {
  std::size_t inputs = 0; ///< Of a convolution: channels * kernel * kernel.
  std::size_t outputs = 0;
  std::size_t offset = 0;

  std::size_t biases() const { return offset + inputs * outputs; }
  std::size_t end() const { return biases() + outputs; }
};

/// A convolution without padding, on images of channels x height x width.
struct ConvolutionPlace {
  LayerPlace layer;
  std::size_t channels = 0, height = 0, width = 0;
  std::size_t kernel = 0, stride = 0;

  std::size_t out_height() const { return (height - kernel) / stride + 1; }
  std::size_t out_width() const { return (width - kernel) / stride + 1; }
  std::size_t inputs() const { return channels * height * width; }
  std::size_t outputs() const { return layer.outputs * out_height() * out_width(); }
};

/// Where an LSTM's numbers are: weights of the input {4 units, inputs}, weights of the
/// last output {4 units, units}, then two vectors of biases. Rows are in the order input
/// gate, forget gate, cell, output gate.
struct LstmPlace {
  std::size_t inputs = 0;
  std::size_t units = 0;
  std::size_t offset = 0;

  std::size_t memory_weights() const { return offset + 4 * units * inputs; }
  std::size_t input_biases() const { return memory_weights() + 4 * units * units; }
  std::size_t memory_biases() const { return input_biases() + 4 * units; }
  std::size_t end() const { return memory_biases() + 4 * units; }
};

/// The order of all parameters of a policy: log standard deviations first, then these
/// layers in this order. An LSTM stands before the last layer of its network.
struct PolicyLayout {
  explicit PolicyLayout(const PolicySpec& spec);

  std::size_t log_std = 0; ///< How many.
  std::vector<ConvolutionPlace> convolutions;
  std::vector<LayerPlace> shared; ///< Hidden layers after the convolutions.
  std::vector<LayerPlace> policy; ///< The last one gives logits or means.
  std::vector<LayerPlace> value;  ///< The last one gives the value.
  std::optional<LstmPlace> policy_lstm, value_lstm;
  std::size_t size = 0; ///< Of the flat vector.

private:
  void append(std::vector<LayerPlace>& layers, std::size_t inputs, std::size_t outputs);
  LstmPlace append_lstm(std::size_t inputs, std::size_t units);
  std::size_t append_convolutions(const Spaces& spaces);
};

} // namespace fiber::rl
