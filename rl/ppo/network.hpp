// SPDX-License-Identifier: Apache-2.0
// The networks in LibTorch's terms. Only network.cpp and torch_gradient.cpp include this:
// its headers take long to compile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/policy.hpp"
#include "fiber/rl/ppo_network.hpp"
#include "rl/ppo/loss_gradient.hpp"

namespace fiber::rl::ppo {

/// What a learner trains. The parameters lie in one tensor and their gradients in
/// another, so that clipping and Adam are a few operations whatever the number of layers.
class Network {
public:
  virtual ~Network() = default;

  /// `observations`: a row of floats for each, on the device of the parameters.
  virtual PpoForward forward(const torch::Tensor& observations) = 0;
  virtual void train(bool /*learns*/) {}

  torch::Tensor& parameters() { return parameters_; }
  torch::Tensor& gradient() { return gradient_; }

protected:
  /// Makes room for this number of parameters.
  void make_room(std::int64_t parameters, torch::Device device);
  /// The next part of the two flat tensors, in this shape.
  struct Part {
    torch::Tensor parameters, gradient;
  };
  Part next_part(std::vector<std::int64_t> shape);

private:
  std::int64_t used_ = 0;
  torch::Tensor parameters_, gradient_;
};

/// The networks that a PolicySpec describes, in the order of the spec.
class SpecNetwork final : public Network {
public:
  /// Throws std::invalid_argument for another number of parameters than the spec's.
  SpecNetwork(const PolicySpec& spec, std::span<const float> parameters,
              torch::Device device);

  PpoForward forward(const torch::Tensor& observations) override;

private:
  struct Layer {
    torch::Tensor weight, bias;
  };
  torch::Tensor leaf(std::vector<std::int64_t> shape);
  Layer layer(std::vector<std::int64_t> weight);
  std::int64_t hidden_layers(std::vector<Layer>& to, std::int64_t inputs);
  torch::Tensor activate(const torch::Tensor& x) const;
  torch::Tensor through(const std::vector<Layer>& layers, torch::Tensor x,
                        bool linear_end) const;

  PolicySpec spec_;
  torch::Tensor log_std_;
  std::vector<Layer> convolutions_, trunk_; ///< Of images.
  std::vector<Layer> policy_, value_;
};

/// A network of the user's own, whose parameters become parts of the flat tensors. So a
/// module on the CPU moves to the device.
class OwnNetwork final : public Network {
public:
  /// Throws std::invalid_argument, saying what is wrong, for a network that these spaces
  /// or a checkpoint can't do with.
  OwnNetwork(const Spaces& spaces, std::shared_ptr<PpoNetwork> network,
             torch::Device device);

  PpoForward forward(const torch::Tensor& observations) override;
  void train(bool learns) override { network_->train(learns); }
  /// The names and shapes of all parameters.
  std::string describe() const;

private:
  void check_outputs();

  Spaces spaces_;
  std::shared_ptr<PpoNetwork> network_;
  std::vector<std::int64_t> shape_; ///< Of a batch of observations.
};

/// Where LibTorch computes, by PpoOptions::device. Throws std::invalid_argument, which
/// says what is missing, for a GPU that is not there.
torch::Device device_of(const std::string& name);

/// The gradient of PPO's loss for a network. `copies`: the learner gets copies of the
/// parameters and of the gradient in the memory of the CPU. A network on a GPU needs
/// them; tests set it for one on the CPU.
std::unique_ptr<LossGradient> gradient_on_torch(const Spaces& spaces,
                                                const PpoOptions& options,
                                                std::unique_ptr<Network> network,
                                                std::string own_network, bool copies);

} // namespace fiber::rl::ppo
