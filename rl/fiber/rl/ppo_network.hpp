// SPDX-License-Identifier: Apache-2.0
// A network of your own for PpoTrainer. The only header of Fiber that includes LibTorch.
// Link with fiber::ppo_torch.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

namespace fiber::rl {

/// What a network gives for a batch of observations.
struct PpoForward {
  /// {rows, Spaces::logits()}: the logits of discrete actions, or of the choices of all
  /// components of multi-discrete ones; or {rows, components}: the means of continuous
  /// ones. The trainer applies masks.
  torch::Tensor policy;
  torch::Tensor value; ///< {rows} or {rows, 1}: the expected return of each.
  /// Continuous actions only: the logarithms of the standard deviations, {components} or
  /// {rows, components}.
  torch::Tensor log_std = {};
};

/// A network that PpoTrainer trains.
class PpoNetwork {
public:
  virtual ~PpoNetwork() = default;

  /// `observations`: {rows, ...}, where the rest is Spaces::observation_shape.
  virtual PpoForward forward(const torch::Tensor& observations) = 0;
  /// The tensors to train, with their names.
  virtual std::vector<std::pair<std::string, torch::Tensor>> parameters() const = 0;
  /// The names of tensors that change in training and are not trained. There must be
  /// none, because a checkpoint would not have them.
  virtual std::vector<std::string> buffers() const { return {}; }
  /// Tells whether the network learns or acts, for dropout. It acts at first.
  virtual void train(bool /*learns*/) {}
};

namespace detail {

template <class Module>
class ModuleNetwork final : public PpoNetwork {
public:
  explicit ModuleNetwork(std::shared_ptr<Module> module) : module_(std::move(module)) {}

  PpoForward forward(const torch::Tensor& observations) override {
    return module_->forward(observations);
  }
  std::vector<std::pair<std::string, torch::Tensor>> parameters() const override {
    std::vector<std::pair<std::string, torch::Tensor>> result;
    for (const auto& each : module_->named_parameters())
      result.emplace_back(each.key(), each.value());
    return result;
  }
  std::vector<std::string> buffers() const override {
    return module_->named_buffers().keys();
  }
  void train(bool learns) override { module_->train(learns); }

private:
  std::shared_ptr<Module> module_;
};

} // namespace detail

/// A network of your own: a torch::nn::Module that has
///
///   fiber::rl::PpoForward forward(torch::Tensor observations);
///
/// The trainer changes the parameters of this very module, so you can save it with
/// torch::save() and use it after the training. Initial parameters are the module's:
/// call torch::manual_seed() before you make it, so that they are the same in each run.
/// Throws std::invalid_argument for a null pointer.
///
/// The trainer sets LibTorch to one thread, for the whole program: more are slower for
/// networks of this kind. Call torch::set_num_threads() afterwards for another number.
template <class Module>
std::shared_ptr<PpoNetwork> ppo_network(std::shared_ptr<Module> module) {
  if (!module)
    throw std::invalid_argument("ppo_network(): the module is null");
  return std::make_shared<detail::ModuleNetwork<Module>>(std::move(module));
}

} // namespace fiber::rl
