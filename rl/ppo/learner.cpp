// SPDX-License-Identifier: Apache-2.0
// The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
#include "rl/ppo/learner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/random.hpp"
#include "rl/ppo/network.hpp"

namespace fiber::rl::ppo {
namespace {

torch::Tensor view(std::span<const float> numbers, std::vector<std::int64_t> shape) {
  return torch::from_blob(const_cast<float*>(numbers.data()), shape, torch::kFloat32);
}

std::vector<float> copy_of(const torch::Tensor& tensor) {
  auto* at = tensor.data_ptr<float>();
  return {at, at + tensor.numel()};
}

/// A rollout, or some rows of it, as tensors.
struct Rows {
  torch::Tensor observations, actions, log_probabilities, values, advantages, returns;

  Rows at(const torch::Tensor& indices) const {
    auto pick = [&](const torch::Tensor& from) { return from.index_select(0, indices); };
    return {pick(observations), pick(actions),    pick(log_probabilities),
            pick(values),       pick(advantages), pick(returns)};
  }
};

void check(const Samples& samples, std::size_t observation, std::size_t action) {
  auto n = samples.size();
  auto expect = [&](const char* what, std::size_t got, std::size_t want) {
    if (got != want)
      throw std::invalid_argument("samples: " + std::to_string(got) + " numbers in " +
                                  what + ", but " + std::to_string(want) + " for " +
                                  std::to_string(n) + " rows");
  };
  if (n == 0)
    throw std::invalid_argument("samples: none to learn from");
  expect("observations", samples.observations.size(), n * observation);
  expect("actions", samples.actions.size(), n * action);
  expect("values", samples.values.size(), n);
  expect("advantages", samples.advantages.size(), n);
  expect("returns", samples.returns.size(), n);
}

} // namespace

class Learner::Impl {
public:
  Impl(Spaces spaces, std::unique_ptr<Network> network, PpoOptions options,
       std::uint64_t seed)
    : spaces_(std::move(spaces)), options_(std::move(options)), seed_(seed),
      network_(std::move(network)), first_(torch::zeros_like(network_->gradient())),
      second_(torch::zeros_like(network_->gradient())) {}

  Rows rows(const Samples& samples) const {
    check(samples, spaces_.observation_size(), spaces_.action_size());
    auto n = static_cast<std::int64_t>(samples.size());
    auto actions =
      view(samples.actions, {n, static_cast<std::int64_t>(spaces_.action_size())});
    return {view(samples.observations,
                 {n, static_cast<std::int64_t>(spaces_.observation_size())}),
            spaces_.discrete() ? actions.to(torch::kInt64) : actions,
            view(samples.log_probabilities, {n}),
            view(samples.values, {n}),
            view(samples.advantages, {n}),
            view(samples.returns, {n})};
  }

  Losses update(const Samples& samples, double learning_rate, double clip_range) {
    auto all = rows(samples);
    const Learning learning(*network_);
    auto n = static_cast<std::int64_t>(samples.size());
    auto most = std::min(n, static_cast<std::int64_t>(options_.minibatch));
    Losses sum;
    bool stopped = false;
    for (int epoch = 0; epoch < options_.epochs && !stopped; ++epoch) {
      auto order = shuffled(n, static_cast<std::uint64_t>(epoch));
      for (std::int64_t at = 0; at < n && !stopped; at += most) {
        // Detail 6: minibatches of a shuffled rollout. A last one of a single row has no
        // deviation to divide by and is left out.
        auto end = std::min(n, at + most);
        if (end - at < 2 && n > 1)
          break;
        auto part = n == most ? all.at(order) : all.at(order.slice(0, at, end));
        auto losses = backward(part, clip_range);
        if (options_.target_kl > 0 && losses.kl > 1.5 * options_.target_kl)
          stopped = true; // Detail 12, an option: the policy is far enough from the old.
        else
          adam_step(learning_rate, losses);
        add(sum, losses);
      }
    }
    ++updates_;
    return mean_of(sum);
  }

  /// Leaves the gradient of the loss in network_->gradient().
  Losses backward(const Rows& part, double clip_range) {
    Losses losses;
    network_->gradient().zero_();
    auto forward = network_->forward(part.observations);
    auto [log_probability, entropy] = distribution(forward, part.actions);

    // Detail 7: advantages with mean 0 and deviation 1 in each minibatch.
    auto advantages = part.advantages;
    if (options_.normalise_advantages && advantages.numel() > 1)
      advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8);

    // Detail 8: the clipped surrogate (Schulman et al. 2017, eq. 7).
    auto log_ratio = log_probability - part.log_probabilities;
    auto ratio = log_ratio.exp();
    auto policy_loss =
      -torch::min(advantages * ratio,
                  advantages * ratio.clamp(1 - clip_range, 1 + clip_range))
         .mean();

    // Detail 9, an option: a value moves by no more than the clip range.
    auto errors = (forward.value - part.returns).square();
    if (options_.clip_values) {
      auto clipped =
        part.values + (forward.value - part.values).clamp(-clip_range, clip_range);
      errors = torch::max(errors, (clipped - part.returns).square());
    }
    auto value_loss = errors.mean();

    // Detail 10: one loss for all, with a bonus for entropy.
    auto loss = policy_loss + options_.value_coefficient * value_loss -
                options_.entropy_coefficient * entropy;
    loss.backward();

    losses.policy = policy_loss.item<double>();
    losses.value = value_loss.item<double>();
    losses.entropy = entropy.item<double>();
    measure(log_ratio.detach(), clip_range, losses);
    if (average_)
      average_all(losses);
    losses.gradient_norm = network_->gradient().norm().item<double>();
    losses.steps = 1;
    check_finite(losses);
    return losses;
  }

  /// Several learners take the same step. The losses are averaged, too, since they decide
  /// whether an update goes on.
  void average_all(Losses& losses) {
    auto& gradient = network_->gradient();
    average_({gradient.data_ptr<float>(), static_cast<std::size_t>(gradient.numel())});
    std::array numbers = {&losses.policy, &losses.value, &losses.entropy, &losses.kl,
                          &losses.clip_fraction};
    std::array<float, numbers.size()> means{};
    std::ranges::transform(numbers, means.begin(),
                           [](auto* number) { return static_cast<float>(*number); });
    average_(means);
    for (std::size_t i = 0; i < means.size(); ++i)
      *numbers[i] = static_cast<double>(means[i]);
  }

  /// The mean and the number a row of the actions' log-probabilities, and the mean of
  /// the entropies.
  std::pair<torch::Tensor, torch::Tensor> distribution(const PpoForward& forward,
                                                       const torch::Tensor& actions) {
    if (spaces_.discrete()) {
      auto logarithms = forward.policy.log_softmax(1);
      return {logarithms.gather(1, actions).flatten(),
              -(logarithms.exp() * logarithms).sum(1).mean()};
    }
    // Details 23 to 25: normal distributions, whose deviations no observation changes
    // unless the network is the user's own. The components of an action are independent,
    // so logarithms add up.
    auto& log_std = forward.log_std;
    auto scaled = (actions - forward.policy) * (-log_std).exp();
    auto constant = 0.5 * std::log(2 * std::numbers::pi);
    return {-(0.5 * scaled.square() + log_std + constant).sum(1),
            (log_std + (0.5 + constant)).sum(-1).mean()};
  }

  /// Detail 12: what tells how far an update has gone.
  static void measure(const torch::Tensor& log_ratio, double clip_range, Losses& losses) {
    auto* at = log_ratio.data_ptr<float>();
    double kl = 0;
    std::int64_t clipped = 0;
    for (std::int64_t i = 0; i < log_ratio.numel(); ++i) {
      auto ratio = std::exp(at[i]);
      kl += static_cast<double>(ratio - 1 - at[i]);
      clipped += std::abs(static_cast<double>(ratio) - 1) > clip_range ? 1 : 0;
    }
    losses.kl = kl / static_cast<double>(log_ratio.numel());
    losses.clip_fraction =
      static_cast<double>(clipped) / static_cast<double>(log_ratio.numel());
  }

  void check_finite(const Losses& losses) const {
    for (auto [name, value] :
         {std::pair("policy loss", losses.policy), std::pair("value loss", losses.value),
          std::pair("entropy", losses.entropy),
          std::pair("gradient", losses.gradient_norm)})
      if (!std::isfinite(value))
        throw Diverged("update " + std::to_string(updates_) + ", step " +
                       std::to_string(steps_) + " of Adam: the " + name + " is " +
                       detail::shown(value));
  }

  /// Kingma and Ba 2015, arXiv 1412.6980, algorithm 1. Detail 3: epsilon is 1e-5.
  void adam_step(double learning_rate, const Losses& losses) {
    torch::NoGradGuard no_graph;
    constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-5;
    auto gradient = network_->gradient();
    // Detail 11: the norm of the whole gradient is limited.
    if (auto over = losses.gradient_norm + 1e-6; over > options_.max_gradient_norm)
      gradient.mul_(options_.max_gradient_norm / over);
    ++steps_;
    first_.mul_(beta1).add_(gradient, 1 - beta1);
    second_.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
    auto t = static_cast<double>(steps_);
    auto below = second_.sqrt().div_(std::sqrt(1 - std::pow(beta2, t))).add_(epsilon);
    auto parameters = network_->parameters();
    parameters.addcdiv_(first_, below, -learning_rate / (1 - std::pow(beta1, t)));
  }

  torch::Tensor shuffled(std::int64_t n, std::uint64_t epoch) const {
    auto order = torch::empty({n}, torch::kInt64);
    auto* at = order.data_ptr<std::int64_t>();
    std::iota(at, at + n, 0);
    Random random(seed_, {updates_, epoch});
    for (auto i = n - 1; i > 0; --i)
      std::swap(at[i], at[random.below(static_cast<std::uint64_t>(i) + 1)]);
    return order;
  }

  static void add(Losses& sum, const Losses& one) {
    sum.policy += one.policy;
    sum.value += one.value;
    sum.entropy += one.entropy;
    sum.kl += one.kl;
    sum.clip_fraction += one.clip_fraction;
    sum.gradient_norm += one.gradient_norm;
    sum.steps += one.steps;
  }
  static Losses mean_of(Losses sum) {
    auto n = static_cast<double>(std::max(sum.steps, 1));
    for (auto* value : {&sum.policy, &sum.value, &sum.entropy, &sum.kl,
                        &sum.clip_fraction, &sum.gradient_norm})
      *value /= n;
    return sum;
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
  std::uint64_t seed_;
  std::string own_network_;
  std::unique_ptr<Network> network_;
  torch::Tensor first_, second_; ///< Adam's moments.
  std::uint64_t steps_ = 0, updates_ = 0;
  Average average_;
};

Learner::Learner(const PolicySpec& spec, std::span<const float> parameters,
                 const PpoOptions& options, std::uint64_t seed) {
  torch::set_num_threads(1); // More are slower for networks of this size.
  impl_ = std::make_unique<Impl>(
    spec.spaces, std::make_unique<SpecNetwork>(spec, parameters), options, seed);
}
Learner::Learner(const Spaces& spaces, std::shared_ptr<PpoNetwork> network,
                 const PpoOptions& options, std::uint64_t seed) {
  torch::set_num_threads(1);
  auto own = std::make_unique<OwnNetwork>(spaces, std::move(network));
  auto names = own->describe();
  impl_ = std::make_unique<Impl>(spaces, std::move(own), options, seed);
  impl_->own_network_ = std::move(names);
}
Learner::~Learner() = default;
Learner::Learner(Learner&&) noexcept = default;
Learner& Learner::operator=(Learner&&) noexcept = default;

std::span<const float> Learner::parameters() const {
  auto& tensor = impl_->network_->parameters();
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

const std::string& Learner::own_network() const {
  return impl_->own_network_;
}

Learner::State Learner::state() const {
  return {copy_of(impl_->network_->parameters()), copy_of(impl_->first_),
          copy_of(impl_->second_), impl_->steps_, impl_->updates_};
}

void Learner::go_on_from(const State& state) {
  auto size = parameters().size();
  auto restore = [&](const char* what, const std::vector<float>& from,
                     const torch::Tensor& to) {
    if (from.size() != size)
      throw std::invalid_argument("a network of " + std::to_string(size) +
                                  " parameters can't go on from " +
                                  std::to_string(from.size()) + " " + what);
    std::ranges::copy(from, to.data_ptr<float>());
  };
  restore("parameters", state.parameters, impl_->network_->parameters());
  restore("first moments", state.first_moments, impl_->first_);
  restore("second moments", state.second_moments, impl_->second_);
  impl_->steps_ = state.steps;
  impl_->updates_ = state.updates;
}

Learner::Outputs Learner::infer(std::span<const float> observations) const {
  torch::NoGradGuard no_graph;
  auto size = impl_->spaces_.observation_size();
  if (observations.empty() || observations.size() % size != 0)
    throw std::invalid_argument("observations: " + std::to_string(observations.size()) +
                                " numbers are no rows of " + std::to_string(size));
  auto forward = impl_->network_->forward(
    view(observations, {static_cast<std::int64_t>(observations.size() / size),
                        static_cast<std::int64_t>(size)}));
  Outputs outputs{
    copy_of(forward.policy.contiguous()), copy_of(forward.value.contiguous()), {}};
  if (!impl_->spaces_.discrete())
    outputs.log_std = copy_of(forward.log_std.contiguous());
  return outputs;
}

void Learner::set_average(Average average) {
  impl_->average_ = std::move(average);
}

Losses Learner::update(const Samples& samples, double learning_rate, double clip_range) {
  return impl_->update(samples, learning_rate, clip_range);
}

Losses Learner::gradient_of(const Samples& samples, double clip_range,
                            std::vector<float>& gradient) {
  auto losses = impl_->backward(impl_->rows(samples), clip_range);
  gradient = copy_of(impl_->network_->gradient());
  return losses;
}

} // namespace fiber::rl::ppo
