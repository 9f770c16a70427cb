// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/policy.hpp"
#include "fiber/rl/ppo_options.hpp"
#include "rl/ppo/sequences.hpp"

namespace fiber::rl {
class PpoNetwork;
}

namespace fiber::rl::ppo {

/// The rows of a rollout, one for each step that an environment took: row i of
/// `observations` has as many floats as an observation, of `actions` as an action.
struct Samples {
  std::span<const float> observations, actions;
  std::span<const float> log_probabilities; ///< Of the actions, when they were drawn.
  std::span<const float> values;            ///< As estimated then.
  std::span<const float> advantages, returns;
  /// Of masked actions: row i has Spaces::mask_size() bytes.
  std::span<const std::uint8_t> masks = {};
  /// For a recurrent policy: of a whole rollout, and of a minibatch.
  Sequences sequences = {};
  PackedSequences packed = {};

  std::size_t size() const { return log_probabilities.size(); }
};

/// Means over the minibatches of an update.
struct Losses {
  double policy = 0, value = 0, entropy = 0;
  double kl = 0;            ///< An estimate of KL(old, new): mean of r - 1 - log r.
  double clip_fraction = 0; ///< Samples whose ratio was outside of the clip range.
  double gradient_norm = 0; ///< Before it was clipped.
  int steps = 0;            ///< Of Adam.
};

/// What networks say of observations: for each row the logits or, for continuous actions,
/// the means; and the value. Logits have Spaces::logits() floats a row, and no mask was
/// applied to them.
struct NetworkOutputs {
  std::vector<float> policy = {}, values = {};
  /// Of continuous actions: a number for each component, or for each of each row.
  std::vector<float> log_std = {};
};

/// The networks of policy and value, and the gradient of PPO's loss: on Eigen, or on
/// LibTorch.
class LossGradient {
public:
  virtual ~LossGradient() = default;

  /// All parameters, for the learner to change, which then calls parameters_changed().
  virtual std::span<float> parameters() = 0;
  /// Takes the parameters to where compute() and infer() use them, such as to a GPU.
  virtual void parameters_changed() {}
  /// As compute() left it, in the order of the parameters.
  virtual std::span<float> gradient() = 0;
  /// Computes the losses and the gradient of one minibatch.
  virtual Losses compute(const Samples& minibatch, double clip_range) = 0;
  /// A recurrent policy sees each observation as the first of an episode.
  virtual NetworkOutputs infer(std::span<const float> observations) = 0;
  /// The names and shapes of the parameters of a network of the user's own; else empty.
  virtual std::string own_network() const { return ""; }
};

/// The networks of a spec without convolution, by hand.
std::unique_ptr<LossGradient> gradient_on_eigen(const PolicySpec& spec,
                                                std::span<const float> parameters,
                                                const PpoOptions& options);

/// Those on LibTorch, which fiber::ppo_torch has.
class TorchGradients {
public:
  virtual ~TorchGradients() = default;
  /// The networks of any spec.
  virtual std::unique_ptr<LossGradient> of_spec(const PolicySpec& spec,
                                                std::span<const float> parameters,
                                                const PpoOptions& options) const = 0;
  /// A network of the user's own. Throws std::invalid_argument, saying what is wrong, for
  /// one that these spaces or a checkpoint can't do with.
  virtual std::unique_ptr<LossGradient> of_own(const Spaces& spaces,
                                               std::shared_ptr<PpoNetwork> network,
                                               const PpoOptions& options) const = 0;
};

/// Detail 12: what tells how far an update has gone. `log_ratio`: of the new probability
/// of each action to the old one.
void measure_ratios(std::span<const float> log_ratio, double clip_range, Losses& losses);

} // namespace fiber::rl::ppo

// Null unless the program is linked with fiber::ppo_torch.
extern "C" [[gnu::weak]] const fiber::rl::ppo::TorchGradients* fiber_rl_torch_gradients();
