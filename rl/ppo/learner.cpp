// SPDX-License-Identifier: Apache-2.0
// The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
#include "rl/ppo/learner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include <Eigen/Core>

#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl::ppo {
namespace {

void check(const Samples& samples, const Spaces& spaces) {
  auto n = samples.size();
  auto expect = [&](const char* what, std::size_t got, std::size_t want) {
    if (got != want)
      throw std::invalid_argument("samples: " + std::to_string(got) + " numbers in " +
                                  what + ", but " + std::to_string(want) + " for " +
                                  std::to_string(n) + " rows");
  };
  if (n == 0)
    throw std::invalid_argument("samples: none to learn from");
  expect("observations", samples.observations.size(), n * spaces.observation_size());
  expect("actions", samples.actions.size(), n * spaces.action_size());
  expect("masks", samples.masks.size(), n * spaces.mask_size());
  expect("values", samples.values.size(), n);
  expect("advantages", samples.advantages.size(), n);
  expect("returns", samples.returns.size(), n);
  const auto& sequences = samples.sequences;
  if (sequences.memory_size == 0)
    return;
  expect("environments", sequences.environments.size(), n);
  expect("begins", sequences.begins.size(), n);
  for (const auto environment : sequences.environments)
    if (environment >= sequences.size())
      throw std::invalid_argument("samples: a row of environment " +
                                  std::to_string(environment) + ", but memory for " +
                                  std::to_string(sequences.size()));
}

using Numbers = Eigen::Map<Eigen::ArrayXf>;

Numbers array(std::span<float> numbers) {
  return {numbers.data(), static_cast<Eigen::Index>(numbers.size())};
}

/// Some rows of a rollout, one after another.
class Minibatch {
public:
  /// `chosen`: rows, or for a recurrent policy environments, whose rows follow each
  /// other.
  Samples take_chosen(const Samples& from, std::span<const std::size_t> chosen) {
    if (from.sequences.memory_size == 0)
      return take(from, chosen);
    packer_.pack(from.sequences, chosen);
    auto samples = take(from, packer_.rows());
    samples.packed = packer_.packed();
    return samples;
  }

private:
  Samples take(const Samples& from, std::span<const std::size_t> rows) {
    const auto n = from.size();
    const auto copy = [&]<class T>(std::span<const T> numbers, std::vector<T>& to) {
      const auto width = numbers.size() / n;
      to.resize(rows.size() * width);
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::ranges::copy(numbers.subspan(rows[i] * width, width),
                          to.begin() + static_cast<std::ptrdiff_t>(i * width));
    };
    copy(from.observations, observations_);
    copy(from.actions, actions_);
    copy(from.log_probabilities, log_probabilities_);
    copy(from.values, values_);
    copy(from.advantages, advantages_);
    copy(from.returns, returns_);
    copy(from.masks, masks_);
    return {observations_, actions_, log_probabilities_, values_, advantages_,
            returns_,      masks_};
  }

  std::vector<float> observations_, actions_, log_probabilities_, values_, advantages_,
    returns_;
  SequencePacker packer_;
  std::vector<std::uint8_t> masks_;
};

const TorchGradients& torch() {
  if (fiber_rl_torch_gradients == nullptr)
    throw std::invalid_argument(
      "PPO learns from images, and trains networks of your own, with LibTorch, which "
      "this program is without: install libtorch-dev, run CMake again, and link "
      "fiber::ppo_torch");
  return *fiber_rl_torch_gradients();
}

} // namespace

void measure_ratios(std::span<const float> log_ratio, double clip_range, Losses& losses) {
  double kl = 0;
  std::size_t clipped = 0;
  for (const auto logarithm : log_ratio) {
    const auto ratio = std::exp(logarithm);
    kl += static_cast<double>(ratio - 1 - logarithm);
    clipped += std::abs(static_cast<double>(ratio) - 1) > clip_range ? 1 : 0;
  }
  losses.kl = kl / static_cast<double>(log_ratio.size());
  losses.clip_fraction =
    static_cast<double>(clipped) / static_cast<double>(log_ratio.size());
}

class Learner::Impl {
public:
  Impl(Spaces spaces, std::unique_ptr<LossGradient> networks, PpoOptions options,
       std::uint64_t seed)
    : spaces_(std::move(spaces)), options_(std::move(options)), seed_(seed),
      networks_(std::move(networks)), first_(networks_->parameters().size()),
      second_(first_.size()) {}

  Losses update(const Samples& samples, double learning_rate, double clip_range,
                std::size_t at_most) {
    check(samples, spaces_);
    // Detail 36: minibatches of a recurrent policy are of whole environments.
    const bool recurrent = samples.sequences.memory_size > 0;
    const auto available = recurrent ? samples.sequences.size() : samples.size();
    const auto n = recurrent ? available : std::min(available, at_most);
    const auto most =
      std::min(n, recurrent ? sequences_a_minibatch() : options_.minibatch);
    Minibatch minibatch;
    Losses sum;
    bool stopped = false;
    for (int epoch = 0; epoch < options_.epochs && !stopped; ++epoch) {
      const auto order = shuffled(available, static_cast<std::uint64_t>(epoch));
      for (std::size_t at = 0; at < n && !stopped; at += most) {
        // Detail 6: minibatches of a shuffled rollout. A last one of a single row has no
        // deviation to divide by and is left out.
        const auto size = std::min(n - at, most);
        const auto part =
          minibatch.take_chosen(samples, std::span(order).subspan(at, size));
        if (part.size() < 2 && samples.size() > 1)
          continue;
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

  /// The samples of a minibatch, rounded up to whole environments.
  std::size_t sequences_a_minibatch() const {
    return (options_.minibatch + options_.rollout - 1) / options_.rollout;
  }

  /// A minibatch of all samples.
  Samples all(const Samples& samples, Minibatch& minibatch) const {
    if (samples.sequences.memory_size == 0)
      return samples;
    std::vector<std::size_t> every(samples.sequences.size());
    std::iota(every.begin(), every.end(), 0);
    return minibatch.take_chosen(samples, every);
  }

  /// Leaves the gradient of the loss in networks_.
  Losses backward(const Samples& minibatch, double clip_range) {
    auto losses = networks_->compute(minibatch, clip_range);
    if (average_)
      average_all(losses);
    losses.gradient_norm =
      std::sqrt(array(networks_->gradient()).cast<double>().square().sum());
    losses.steps = 1;
    check_finite(losses);
    return losses;
  }

  /// Several learners take the same step. The losses are averaged, too, since they decide
  /// whether an update goes on.
  void average_all(Losses& losses) {
    average_(networks_->gradient());
    std::array numbers = {&losses.policy, &losses.value, &losses.entropy, &losses.kl,
                          &losses.clip_fraction};
    std::array<float, numbers.size()> means{};
    std::ranges::transform(numbers, means.begin(),
                           [](auto* number) { return static_cast<float>(*number); });
    average_(means);
    for (std::size_t i = 0; i < means.size(); ++i)
      *numbers[i] = static_cast<double>(means[i]);
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
    constexpr float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-5F;
    auto gradient = array(networks_->gradient());
    // Detail 11: the norm of the whole gradient is limited.
    if (auto over = losses.gradient_norm + 1e-6; over > options_.max_gradient_norm)
      gradient *= static_cast<float>(options_.max_gradient_norm / over);
    ++steps_;
    auto first = array(first_), second = array(second_);
    first = beta1 * first + (1 - beta1) * gradient;
    second = beta2 * second + (1 - beta2) * gradient.square();
    const auto t = static_cast<double>(steps_);
    const auto spread = static_cast<float>(1 / std::sqrt(1 - std::pow(0.999, t)));
    const auto rate = static_cast<float>(learning_rate / (1 - std::pow(0.9, t)));
    array(networks_->parameters()) -= rate * first / (spread * second.sqrt() + epsilon);
    networks_->parameters_changed();
  }

  std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t epoch) const {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    Random random(seed_, {updates_, epoch});
    for (auto i = n - 1; i > 0; --i)
      std::swap(order[i], order[random.below(i + 1)]);
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

  Spaces spaces_;
  PpoOptions options_;
  std::uint64_t seed_;
  std::unique_ptr<LossGradient> networks_;
  std::vector<float> first_, second_; ///< Adam's moments.
  std::uint64_t steps_ = 0, updates_ = 0;
  Average average_;
};

Learner::Learner(const PolicySpec& spec, std::span<const float> parameters,
                 const PpoOptions& options, std::uint64_t seed) {
  if (parameters.size() != spec.parameter_count())
    throw std::invalid_argument("the network " + spec.describe() + " has " +
                                std::to_string(spec.parameter_count()) +
                                " parameters, not " + std::to_string(parameters.size()));
  auto networks = spec.convolution ? torch().of_spec(spec, parameters, options)
                                   : gradient_on_eigen(spec, parameters, options);
  impl_ = std::make_unique<Impl>(spec.spaces, std::move(networks), options, seed);
}
Learner::Learner(const Spaces& spaces, std::shared_ptr<PpoNetwork> network,
                 const PpoOptions& options, std::uint64_t seed)
  : impl_(std::make_unique<Impl>(
      spaces, torch().of_own(spaces, std::move(network), options), options, seed)) {}
Learner::Learner(const Spaces& spaces, std::unique_ptr<LossGradient> networks,
                 const PpoOptions& options, std::uint64_t seed)
  : impl_(std::make_unique<Impl>(spaces, std::move(networks), options, seed)) {}
Learner::~Learner() = default;
Learner::Learner(Learner&&) noexcept = default;
Learner& Learner::operator=(Learner&&) noexcept = default;

std::span<const float> Learner::parameters() const {
  return impl_->networks_->parameters();
}

std::string Learner::own_network() const {
  return impl_->networks_->own_network();
}

Learner::State Learner::state() const {
  const auto parameters = this->parameters();
  return {{parameters.begin(), parameters.end()},
          impl_->first_,
          impl_->second_,
          impl_->steps_,
          impl_->updates_};
}

void Learner::go_on_from(const State& state) {
  const auto parameters = impl_->networks_->parameters();
  auto restore = [&](const char* what, const std::vector<float>& from,
                     std::span<float> to) {
    if (from.size() != to.size())
      throw std::invalid_argument("a network of " + std::to_string(to.size()) +
                                  " parameters can't go on from " +
                                  std::to_string(from.size()) + " " + what);
    std::ranges::copy(from, to.begin());
  };
  restore("parameters", state.parameters, parameters);
  impl_->networks_->parameters_changed();
  restore("first moments", state.first_moments, impl_->first_);
  restore("second moments", state.second_moments, impl_->second_);
  impl_->steps_ = state.steps;
  impl_->updates_ = state.updates;
}

Learner::Outputs Learner::infer(std::span<const float> observations) const {
  auto size = impl_->spaces_.observation_size();
  if (observations.empty() || observations.size() % size != 0)
    throw std::invalid_argument("observations: " + std::to_string(observations.size()) +
                                " numbers are no rows of " + std::to_string(size));
  return impl_->networks_->infer(observations);
}

void Learner::set_average(Average average) {
  impl_->average_ = std::move(average);
}

Losses Learner::update(const Samples& samples, double learning_rate, double clip_range,
                       std::size_t at_most) {
  return impl_->update(samples, learning_rate, clip_range, at_most);
}

Losses Learner::gradient_of(const Samples& samples, double clip_range,
                            std::vector<float>& gradient) {
  check(samples, impl_->spaces_);
  Minibatch minibatch;
  auto losses = impl_->backward(impl_->all(samples, minibatch), clip_range);
  const auto computed = impl_->networks_->gradient();
  gradient.assign(computed.begin(), computed.end());
  return losses;
}

} // namespace fiber::rl::ppo
