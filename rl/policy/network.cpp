// SPDX-License-Identifier: Apache-2.0
#include "rl/policy/network.hpp"

#include <Eigen/Core>

namespace fiber::rl {
namespace {
namespace matrices {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Constant = Eigen::Map<const RowMajor>;
using Mutable = Eigen::Map<RowMajor>;
using Vector = Eigen::Map<const Eigen::VectorXf>;

Eigen::Index index(std::size_t size) {
  return static_cast<Eigen::Index>(size);
}

Constant weights(const std::vector<float>& parameters, const LayerPlace& layer) {
  return {parameters.data() + layer.offset, index(layer.outputs), index(layer.inputs)};
}

Vector biases(const std::vector<float>& parameters, const LayerPlace& layer) {
  return {parameters.data() + layer.biases(), index(layer.outputs)};
}

// Column p holds the pixels that the kernel sees at position p; rows are in the order
// {channel, kernel row, kernel column} of the weights.
void patches(const float* image, const ConvolutionPlace& place, float* columns) {
  const auto height = place.out_height(), width = place.out_width();
  for (std::size_t c = 0; c < place.channels; ++c)
    for (std::size_t ky = 0; ky < place.kernel; ++ky)
      for (std::size_t kx = 0; kx < place.kernel; ++kx)
        for (std::size_t y = 0; y < height; ++y) {
          const auto* from =
            image + (c * place.height + y * place.stride + ky) * place.width + kx;
          for (std::size_t x = 0; x < width; ++x)
            *columns++ = from[x * place.stride];
        }
}

} // namespace matrices
} // namespace

std::span<const float> Network::dense(std::span<const float> input, std::size_t rows,
                                      std::span<const LayerPlace> layers,
                                      bool activate_last) {
  using namespace matrices;
  for (const auto& layer : layers) {
    auto& buffer = other_buffer(rows * layer.outputs);
    const Constant in(input.data(), index(rows), index(layer.inputs));
    Mutable out(buffer.data(), index(rows), index(layer.outputs));
    out.rowwise() = biases(parameters_, layer).transpose();
    out.noalias() += in * weights(parameters_, layer).transpose();
    const std::span<float> result(buffer.data(), rows * layer.outputs);
    if (activate_last || &layer != &layers.back())
      activate(result);
    input = result;
  }
  return input;
}

std::span<const float>
Network::convolve(std::span<const float> input, std::size_t rows,
                  const std::vector<ConvolutionPlace>& convolutions) {
  for (const auto& place : convolutions) {
    auto& buffer = other_buffer(rows * place.outputs());
    for (std::size_t row = 0; row < rows; ++row)
      one(input.data() + row * place.inputs(), place,
          buffer.data() + row * place.outputs());
    const std::span<float> result(buffer.data(), rows * place.outputs());
    activate(result);
    input = result;
  }
  return input;
}

void Network::one(const float* image, const ConvolutionPlace& place, float* out) {
  using namespace matrices;
  const auto positions = place.out_height() * place.out_width();
  if (const auto size = place.layer.inputs * positions; columns_.size() < size)
    columns_.resize(size);
  patches(image, place, columns_.data());
  const Constant columns(columns_.data(), index(place.layer.inputs), index(positions));
  Mutable result(out, index(place.layer.outputs), index(positions));
  result.colwise() = biases(parameters_, place.layer);
  result.noalias() += weights(parameters_, place.layer) * columns;
}

void Network::activate(std::span<float> numbers) const {
  Eigen::Map<Eigen::ArrayXf> array(numbers.data(), matrices::index(numbers.size()));
  if (activation_ == Activation::tanh)
    array = array.tanh();
  else
    array = 0.5f * (array + array.abs()); // Unlike max(), keeps a NaN.
}

std::vector<float>& Network::other_buffer(std::size_t size) {
  turn_ = 1 - turn_;
  auto& buffer = buffers_[turn_];
  if (buffer.size() < size)
    buffer.resize(size);
  return buffer;
}

} // namespace fiber::rl
