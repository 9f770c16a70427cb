// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rl/policy/layout.hpp"

namespace fiber::rl {

/// The forward pass of layers, in memory that is kept for the next one.
class Network {
public:
  /// `parameters` is the flat vector that the layers' offsets are in. It must outlive
  /// this.
  Network(const std::vector<float>& parameters, Activation activation)
    : parameters_(parameters), activation_(activation) {}

  /// Runs rows of floats through layers. The activation follows each layer, the last one
  /// only if `activate_last`. The result is valid until the next call of either function.
  std::span<const float> dense(std::span<const float> input, std::size_t rows,
                               std::span<const LayerPlace> layers, bool activate_last);
  /// Runs images through convolutions; the activation follows each. Result rows are in
  /// the order {channel, row, column}.
  std::span<const float> convolve(std::span<const float> input, std::size_t rows,
                                  const std::vector<ConvolutionPlace>& convolutions);

private:
  void one(const float* image, const ConvolutionPlace& place, float* out);
  void activate(std::span<float> numbers) const;
  std::vector<float>& other_buffer(std::size_t size);

  const std::vector<float>& parameters_;
  Activation activation_;
  std::vector<float> buffers_[2]; ///< A layer reads one and writes the other.
  std::size_t turn_ = 0;
  std::vector<float> columns_; ///< One image's patches, one a column.
};

} // namespace fiber::rl
