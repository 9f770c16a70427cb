// SPDX-License-Identifier: Apache-2.0
// The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "rl/ppo/loss_gradient.hpp"
#include "rl/ppo/network.hpp"

namespace fiber::rl::ppo {
namespace {

torch::Tensor view(std::span<const float> numbers, std::vector<std::int64_t> shape) {
  return torch::from_blob(const_cast<float*>(numbers.data()), shape, torch::kFloat32);
}

std::vector<float> copy_of(const torch::Tensor& tensor) {
  const auto flat = tensor.to(torch::kCPU).contiguous();
  auto* at = flat.data_ptr<float>();
  return {at, at + flat.numel()};
}

std::span<float> numbers_of(torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

class TorchGradient final : public LossGradient {
public:
  TorchGradient(Spaces spaces, const PpoOptions& options,
                std::unique_ptr<Network> network, std::string own_network, bool copies)
    : spaces_(std::move(spaces)), options_(options), network_(std::move(network)),
      own_network_(std::move(own_network)), device_(network_->parameters().device()),
      parameters_(for_learner(network_->parameters(), copies)),
      gradient_(for_learner(network_->gradient(), copies)) {
    torch::set_num_threads(1); // More are slower for networks of this size.
  }

  std::span<float> parameters() override { return numbers_of(parameters_); }
  void parameters_changed() override {
    network_->parameters().copy_(parameters_); // Does nothing to a tensor itself.
  }
  std::span<float> gradient() override { return numbers_of(gradient_); }
  std::string own_network() const override { return own_network_; }

  Losses compute(const Samples& minibatch, double clip_range) override {
    const Learning learning(*network_);
    const auto n = static_cast<std::int64_t>(minibatch.size());
    const auto rows = [&](std::span<const float> numbers) { return given(numbers, {n}); };
    auto actions =
      given(minibatch.actions, {n, static_cast<std::int64_t>(spaces_.action_size())});
    if (spaces_.discrete())
      actions = actions.to(torch::kInt64);
    network_->gradient().zero_();
    auto forward = network_->forward(observations(minibatch.observations));
    if (!minibatch.masks.empty())
      forward.policy = masked(forward.policy, minibatch.masks);
    auto [log_probability, entropy] = distribution(forward, actions);

    // Detail 7: advantages with mean 0 and deviation 1 in each minibatch.
    auto advantages = rows(minibatch.advantages);
    if (options_.normalise_advantages && advantages.numel() > 1)
      advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8);

    // Detail 8: the clipped surrogate (Schulman et al. 2017, eq. 7).
    auto log_ratio = log_probability - rows(minibatch.log_probabilities);
    auto ratio = log_ratio.exp();
    auto policy_loss =
      -torch::min(advantages * ratio,
                  advantages * ratio.clamp(1 - clip_range, 1 + clip_range))
         .mean();

    // Detail 9, an option: a value moves by no more than the clip range.
    auto returns = rows(minibatch.returns);
    auto errors = (forward.value - returns).square();
    if (options_.clip_values) {
      auto values = rows(minibatch.values);
      auto clipped = values + (forward.value - values).clamp(-clip_range, clip_range);
      errors = torch::max(errors, (clipped - returns).square());
    }
    auto value_loss = errors.mean();

    // Detail 10: one loss for all, with a bonus for entropy.
    auto loss = policy_loss + options_.value_coefficient * value_loss -
                options_.entropy_coefficient * entropy;
    loss.backward();
    gradient_.copy_(network_->gradient());

    Losses losses;
    losses.policy = policy_loss.item<double>();
    losses.value = value_loss.item<double>();
    losses.entropy = entropy.item<double>();
    auto ratios = log_ratio.detach().to(torch::kCPU);
    measure_ratios(numbers_of(ratios), clip_range, losses);
    return losses;
  }

  NetworkOutputs infer(std::span<const float> seen) override {
    torch::NoGradGuard no_graph;
    auto forward = network_->forward(observations(seen));
    NetworkOutputs outputs{copy_of(forward.policy), copy_of(forward.value), {}};
    if (!spaces_.discrete())
      outputs.log_std = copy_of(forward.log_std);
    return outputs;
  }

private:
  /// The learner changes numbers in the memory of the CPU: those of the network itself,
  /// unless the network is elsewhere.
  static torch::Tensor for_learner(const torch::Tensor& tensor, bool copies) {
    return tensor.to(torch::kCPU, tensor.scalar_type(), false, copies);
  }

  /// What the learner gives, on the device.
  torch::Tensor given(std::span<const float> numbers,
                      std::vector<std::int64_t> shape) const {
    return view(numbers, std::move(shape)).to(device_);
  }
  torch::Tensor observations(std::span<const float> numbers) const {
    const auto size = spaces_.observation_size();
    return given(numbers, {static_cast<std::int64_t>(numbers.size() / size),
                           static_cast<std::int64_t>(size)});
  }

  /// Gives what masks forbid the probability 0, and so no gradient.
  static torch::Tensor masked(const torch::Tensor& logits,
                              std::span<const std::uint8_t> masks) {
    const auto possible = torch::from_blob(const_cast<std::uint8_t*>(masks.data()),
                                           logits.sizes(), torch::kUInt8)
                            .to(logits.device());
    return logits.masked_fill(possible == 0, -std::numeric_limits<float>::infinity());
  }

  /// The logarithms of the actions' probabilities, and the mean of the entropies. The
  /// components of an action are independent, so logarithms and entropies add up.
  std::pair<torch::Tensor, torch::Tensor> distribution(const PpoForward& forward,
                                                       const torch::Tensor& actions) {
    if (spaces_.discrete()) {
      // An action that the network rules out has the logit -inf, and 0 * -inf is no
      // number.
      constexpr auto lowest = std::numeric_limits<float>::lowest();
      const auto counts = spaces_.choices();
      torch::Tensor log_probability, entropies;
      std::int64_t begin = 0;
      for (std::size_t i = 0; i < counts.size(); begin += counts[i++]) {
        auto logarithms = forward.policy.narrow(1, begin, counts[i]).log_softmax(1);
        auto taken =
          logarithms.gather(1, actions.narrow(1, static_cast<std::int64_t>(i), 1))
            .flatten();
        auto entropy = -(logarithms.exp() * logarithms.clamp_min(lowest)).sum(1);
        log_probability = i == 0 ? taken : log_probability + taken;
        entropies = i == 0 ? entropy : entropies + entropy;
      }
      return {log_probability, entropies.mean()};
    }
    // Details 23 to 25: normal distributions, whose deviations no observation changes
    // unless the network is the user's own.
    auto& log_std = forward.log_std;
    auto scaled = (actions - forward.policy) * (-log_std).exp();
    auto constant = 0.5 * std::log(2 * std::numbers::pi);
    return {-(0.5 * scaled.square() + log_std + constant).sum(1),
            (log_std + (0.5 + constant)).sum(-1).mean()};
  }

  /// For dropout.
  class Learning {
  public:
    explicit Learning(Network& network) : network_(network) { network_.train(true); }
    ~Learning() { network_.train(false); }
    Learning(const Learning&) = delete;
    Learning& operator=(const Learning&) = delete;

  private:
    Network& network_;
  };

  Spaces spaces_;
  PpoOptions options_;
  std::unique_ptr<Network> network_;
  std::string own_network_;
  torch::Device device_;
  torch::Tensor parameters_, gradient_; ///< For the learner.
};

class Gradients final : public TorchGradients {
public:
  std::unique_ptr<LossGradient> of_spec(const PolicySpec& spec,
                                        std::span<const float> parameters,
                                        const PpoOptions& options) const override {
    const auto device = device_of(options.device);
    return gradient_on_torch(spec.spaces, options,
                             std::make_unique<SpecNetwork>(spec, parameters, device), "",
                             !device.is_cpu());
  }

  std::unique_ptr<LossGradient> of_own(const Spaces& spaces,
                                       std::shared_ptr<PpoNetwork> network,
                                       const PpoOptions& options) const override {
    const auto device = device_of(options.device);
    auto own = std::make_unique<OwnNetwork>(spaces, std::move(network), device);
    auto described = own->describe();
    return gradient_on_torch(spaces, options, std::move(own), std::move(described),
                             !device.is_cpu());
  }
};

} // namespace

std::unique_ptr<LossGradient> gradient_on_torch(const Spaces& spaces,
                                                const PpoOptions& options,
                                                std::unique_ptr<Network> network,
                                                std::string own_network, bool copies) {
  return std::make_unique<TorchGradient>(spaces, options, std::move(network),
                                         std::move(own_network), copies);
}

} // namespace fiber::rl::ppo

const fiber::rl::ppo::TorchGradients* fiber_rl_torch_gradients() {
  static const fiber::rl::ppo::Gradients gradients;
  return &gradients;
}
