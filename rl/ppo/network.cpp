// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/network.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace fiber::rl::ppo {
namespace {

constexpr std::int64_t convolution_strides[] = {4, 2, 1};

std::int64_t signed_size(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

} // namespace

Network::Network(const PolicySpec& spec, std::span<const float> parameters)
  : spec_(spec) {
  if (parameters.size() != spec.parameter_count())
    throw std::invalid_argument("the network " + spec.describe() + " has " +
                                std::to_string(spec.parameter_count()) +
                                " parameters, not " + std::to_string(parameters.size()));
  parameters_ = torch::empty({signed_size(parameters.size())}, torch::kFloat32);
  std::ranges::copy(parameters, parameters_.data_ptr<float>());
  gradient_ = torch::zeros_like(parameters_);

  // In the order of PolicySpec::parameter_count().
  auto outputs = signed_size(spec.outputs());
  if (!spec.spaces.discrete())
    log_std_ = leaf({outputs});
  if (!spec.convolution) {
    auto inputs = signed_size(spec.spaces.observation_size());
    policy_.push_back(layer({outputs, hidden_layers(policy_, inputs)}));
    value_.push_back(layer({1, hidden_layers(value_, inputs)}));
    return;
  }
  auto& shape = spec.spaces.observation_shape;
  convolutions_ = {layer({32, signed_size(shape[0]), 8, 8}), layer({64, 32, 4, 4}),
                   layer({64, 64, 3, 3})};
  auto left = [](std::size_t size) {
    return (((signed_size(size) - 8) / 4 + 1 - 4) / 2 + 1) - 2;
  };
  auto width = hidden_layers(trunk_, 64 * left(shape[1]) * left(shape[2]));
  policy_.push_back(layer({outputs, width}));
  value_.push_back(layer({1, width}));
}

/// The next of the parameters as a leaf of the graph. It shares the memory of the two
/// flat tensors, where backward() adds its gradient up.
torch::Tensor Network::leaf(std::vector<std::int64_t> shape) {
  std::int64_t size = 1;
  for (auto extent : shape)
    size *= extent;
  auto part = [&](const torch::Tensor& all) {
    return all.narrow(0, used_, size).view(shape).detach();
  };
  auto tensor = part(parameters_).requires_grad_();
  tensor.mutable_grad() = part(gradient_);
  used_ += size;
  return tensor;
}

Network::Layer Network::layer(std::vector<std::int64_t> weight) {
  auto outputs = weight[0];
  auto matrix = leaf(std::move(weight));
  return {matrix, leaf({outputs})};
}

/// Appends the hidden layers and returns the width of the last one.
std::int64_t Network::hidden_layers(std::vector<Layer>& to, std::int64_t inputs) {
  for (auto width : spec_.hidden) {
    to.push_back(layer({signed_size(width), inputs}));
    inputs = signed_size(width);
  }
  return inputs;
}

torch::Tensor Network::activate(const torch::Tensor& x) const {
  return spec_.activation == Activation::tanh ? x.tanh() : x.relu();
}

torch::Tensor Network::through(const std::vector<Layer>& layers, torch::Tensor x,
                               bool linear_end) const {
  for (auto& each : layers) {
    x = torch::addmm(each.bias, x, each.weight.t());
    if (!linear_end || &each != &layers.back())
      x = activate(x);
  }
  return x;
}

Forward Network::forward(const torch::Tensor& observations) const {
  auto x = observations;
  if (spec_.observation_scale != 1)
    x = x * spec_.observation_scale;
  if (spec_.convolution) {
    auto& shape = spec_.spaces.observation_shape;
    x = x.view({-1, signed_size(shape[0]), signed_size(shape[1]), signed_size(shape[2])});
    for (std::size_t i = 0; i < convolutions_.size(); ++i)
      x = activate(torch::conv2d(x, convolutions_[i].weight, convolutions_[i].bias,
                                 convolution_strides[i]));
    x = through(trunk_, x.flatten(1), false);
  }
  return {through(policy_, x, true), through(value_, x, true).flatten()};
}

} // namespace fiber::rl::ppo
