// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/network.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::rl::ppo {
namespace {

constexpr std::int64_t convolution_strides[] = {4, 2, 1};

std::int64_t signed_size(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

} // namespace

torch::Device device_of(const std::string& name) {
  const torch::Device device(name);
  if (device.is_cpu())
    return device;
  if (!at::Context::hasCUDART())
    throw std::invalid_argument("device " + name +
                                ": this LibTorch was built without CUDA; install one "
                                "with CUDA, and set CMAKE_PREFIX_PATH to its folder");
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (std::max<int>(device.index(), 0) >= count)
    throw std::invalid_argument("device " + name + ": no such CUDA device is there; " +
                                "LibTorch finds " + std::to_string(count));
  return device;
}

void Network::make_room(std::int64_t parameters, torch::Device device) {
  parameters_ = torch::empty({parameters}, torch::dtype(torch::kFloat32).device(device));
  gradient_ = torch::zeros_like(parameters_);
}

Network::Part Network::next_part(std::vector<std::int64_t> shape) {
  std::int64_t size = 1;
  for (auto extent : shape)
    size *= extent;
  auto part = [&](const torch::Tensor& all) {
    return all.narrow(0, used_, size).view(shape).detach();
  };
  Part result{part(parameters_), part(gradient_)};
  used_ += size;
  return result;
}

SpecNetwork::SpecNetwork(const PolicySpec& spec, std::span<const float> parameters,
                         torch::Device device)
  : spec_(spec) {
  if (parameters.size() != spec.parameter_count())
    throw std::invalid_argument("the network " + spec.describe() + " has " +
                                std::to_string(spec.parameter_count()) +
                                " parameters, not " + std::to_string(parameters.size()));
  make_room(signed_size(parameters.size()), device);
  this->parameters().copy_(torch::from_blob(const_cast<float*>(parameters.data()),
                                            this->parameters().sizes(), torch::kFloat32));

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
torch::Tensor SpecNetwork::leaf(std::vector<std::int64_t> shape) {
  auto part = next_part(std::move(shape));
  auto tensor = part.parameters.requires_grad_();
  tensor.mutable_grad() = part.gradient;
  return tensor;
}

SpecNetwork::Layer SpecNetwork::layer(std::vector<std::int64_t> weight) {
  auto outputs = weight[0];
  auto matrix = leaf(std::move(weight));
  return {matrix, leaf({outputs})};
}

/// Appends the hidden layers and returns the width of the last one.
std::int64_t SpecNetwork::hidden_layers(std::vector<Layer>& to, std::int64_t inputs) {
  for (auto width : spec_.hidden) {
    to.push_back(layer({signed_size(width), inputs}));
    inputs = signed_size(width);
  }
  return inputs;
}

torch::Tensor SpecNetwork::activate(const torch::Tensor& x) const {
  return spec_.activation == Activation::tanh ? x.tanh() : x.relu();
}

torch::Tensor SpecNetwork::through(const std::vector<Layer>& layers, torch::Tensor x,
                                   bool linear_end) const {
  for (auto& each : layers) {
    x = torch::addmm(each.bias, x, each.weight.t());
    if (!linear_end || &each != &layers.back())
      x = activate(x);
  }
  return x;
}

PpoForward SpecNetwork::forward(const torch::Tensor& observations) {
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
  return {through(policy_, x, true), through(value_, x, true).flatten(), log_std_};
}

OwnNetwork::OwnNetwork(const Spaces& spaces, std::shared_ptr<PpoNetwork> network,
                       torch::Device device)
  : spaces_(spaces), network_(std::move(network)), shape_{-1} {
  for (auto extent : spaces.observation_shape)
    shape_.push_back(signed_size(extent));
  if (auto buffers = network_->buffers(); !buffers.empty())
    throw std::invalid_argument("a network for PpoTrainer has no buffers, because a "
                                "checkpoint would not have them; this one has " +
                                buffers.front());
  auto named = network_->parameters();
  std::int64_t count = 0;
  for (auto& [name, tensor] : named) {
    if (tensor.scalar_type() != torch::kFloat32 ||
        !(tensor.device().is_cpu() || tensor.device().type() == device.type()) ||
        !tensor.requires_grad())
      throw std::invalid_argument(
        "the network's parameter " + name + " must be float32, on the CPU" +
        (device.is_cpu() ? "" : " or on a GPU") + ", and require a gradient");
    count += tensor.numel();
  }
  if (count == 0)
    throw std::invalid_argument("the network has no parameters: are its modules "
                                "registered with register_module()?");
  make_room(count, device);
  for (auto& [name, tensor] : named) {
    auto part = next_part(tensor.sizes().vec());
    torch::NoGradGuard no_graph;
    part.parameters.copy_(tensor);
    tensor.set_data(part.parameters);
    tensor.mutable_grad() = part.gradient;
  }
  network_->train(false);
  check_outputs();
}

PpoForward OwnNetwork::forward(const torch::Tensor& observations) {
  auto result = network_->forward(observations.view(shape_));
  result.value = result.value.flatten();
  return result;
}

std::string OwnNetwork::describe() const {
  fiber::detail::Classic<std::ostringstream> text;
  text << "own network";
  for (auto& [name, tensor] : network_->parameters())
    text << ", " << name << ' ' << tensor.sizes();
  return text.str();
}

void OwnNetwork::check_outputs() {
  torch::NoGradGuard no_graph;
  constexpr std::int64_t rows = 2;
  auto outputs =
    signed_size(spaces_.discrete() ? spaces_.logits() : spaces_.action_size());
  auto given = forward(torch::zeros({rows, signed_size(spaces_.observation_size())},
                                    torch::device(parameters().device())));
  auto require = [](bool right, const char* what, const torch::Tensor& tensor,
                    const std::string& expected) {
    if (right)
      return;
    fiber::detail::Classic<std::ostringstream> text;
    text << "the network's " << what << " has the shape "
         << (tensor.defined() ? tensor.sizes() : c10::IntArrayRef()) << " for " << rows
         << " observations; it must be " << expected;
    throw std::invalid_argument(text.str());
  };
  auto shape = std::to_string(rows) + ", " + std::to_string(outputs) + "]";
  auto is = [](const torch::Tensor& tensor, std::initializer_list<std::int64_t> sizes) {
    return tensor.defined() && tensor.sizes() == c10::IntArrayRef(sizes);
  };
  require(is(given.policy, {rows, outputs}), "policy", given.policy,
          '[' + shape +
            (spaces_.discrete() ? ", a logit for each choice of an action"
                                : ", a mean for each component of an action"));
  require(is(given.value, {rows}), "value", given.value, "[2] or [2, 1]");
  if (!spaces_.discrete())
    require(is(given.log_std, {outputs}) || is(given.log_std, {rows, outputs}), "log_std",
            given.log_std,
            '[' + std::to_string(outputs) + "] or [" + shape +
              ", as actions are continuous");
}

} // namespace fiber::rl::ppo
