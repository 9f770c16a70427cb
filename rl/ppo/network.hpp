// SPDX-License-Identifier: Apache-2.0
// The networks in LibTorch's terms. Only learner.cpp and network.cpp include this: its
// headers take long to compile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <torch/torch.h>

#include "fiber/rl/policy.hpp"

namespace fiber::rl::ppo {

/// What the networks give for a batch of observations.
struct Forward {
  torch::Tensor policy; ///< Logits, or means: a row for each observation.
  torch::Tensor value;  ///< One number for each.
};

/// The networks that a PolicySpec describes. Their parameters lie in one tensor and their
/// gradients in another, both in the order of the spec, so that clipping and Adam are a
/// few operations whatever the number of layers.
class Network {
public:
  /// Throws std::invalid_argument for another number of parameters than the spec's.
  Network(const PolicySpec& spec, std::span<const float> parameters);

  /// `observations`: a row of floats for each.
  Forward forward(const torch::Tensor& observations) const;
  /// The logarithms of the standard deviations of continuous actions.
  const torch::Tensor& log_std() const { return log_std_; }

  const torch::Tensor& parameters() const { return parameters_; }
  const torch::Tensor& gradient() const { return gradient_; }

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
  std::int64_t used_ = 0; ///< Of the parameters, while layers are made.
  torch::Tensor parameters_, gradient_, log_std_;
  std::vector<Layer> convolutions_, trunk_; ///< Of images.
  std::vector<Layer> policy_, value_;
};

} // namespace fiber::rl::ppo
