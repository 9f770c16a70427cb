// SPDX-License-Identifier: Apache-2.0
// The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>

#include <Eigen/Core>

#include "rl/policy/layout.hpp"
#include "rl/ppo/loss_gradient.hpp"
#include "rl/ppo/lstm_gradient.hpp"

namespace fiber::rl::ppo {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXf; ///< A column for each sample.
using Array = Eigen::ArrayXf;
using Possible = Eigen::Array<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic>;
using Vector = Eigen::Map<Eigen::VectorXf>;
using Samples1 = Eigen::Map<const Array>;

Index index(std::size_t size) {
  return static_cast<Index>(size);
}

Samples1 array(std::span<const float> numbers) {
  return {numbers.data(), index(numbers.size())};
}

class MlpGradient final : public LossGradient {
public:
  MlpGradient(const PolicySpec& spec, std::span<const float> parameters,
              const PpoOptions& options)
    : spec_(spec), options_(options), layout_(spec),
      parameters_(parameters.begin(), parameters.end()), gradient_(parameters.size()),
      policy_(layout_.policy, layout_.policy_lstm, 0, spec.activation),
      value_(layout_.value, layout_.value_lstm, 2 * spec.lstm, spec.activation) {}

  std::span<float> parameters() override { return parameters_; }
  std::span<float> gradient() override { return gradient_; }

  Losses compute(const Samples& minibatch, double clip_range) override {
    Losses losses;
    const auto inputs = this->inputs(minibatch.observations);
    const auto& packed = minibatch.packed;
    if (packed.memory_size != spec_.memory_size())
      throw std::invalid_argument("samples: sequences for a memory of " +
                                  std::to_string(packed.memory_size) +
                                  " floats, but that of " + spec_.describe() + " has " +
                                  std::to_string(spec_.memory_size()));
    const auto& policy = policy_.forward(parameters_, inputs, packed);
    const auto& value = value_.forward(parameters_, inputs, packed);
    const auto n = index(minibatch.size());
    // Each continues where the one before left off: the logarithms of the probabilities,
    // the gradient of the loss by them, and that by the outputs.
    log_probabilities(policy, minibatch);
    by_log_probability(minibatch, static_cast<float>(clip_range), losses);
    policy_errors_.resize(policy.rows(), n);
    if (spec_.spaces.discrete())
      by_logits(minibatch.actions, losses);
    else
      by_means(losses);
    policy_.backward(parameters_, gradient_, inputs, policy_errors_, packed);
    by_value(value, minibatch, static_cast<float>(clip_range), losses);
    value_.backward(parameters_, gradient_, inputs, value_errors_, packed);
    return losses;
  }

  NetworkOutputs infer(std::span<const float> observations) override {
    const auto inputs = this->inputs(observations);
    // Each row begins an episode.
    const auto rows = static_cast<std::size_t>(inputs.cols());
    const std::vector<std::uint8_t> begins(rows);
    const std::vector<float> memory(rows * spec_.memory_size());
    const PackedSequences packed{{&rows, 1}, begins, memory, spec_.memory_size()};
    const auto copy = [](const Matrix& from) {
      return std::vector<float>(from.data(), from.data() + from.size());
    };
    NetworkOutputs outputs{copy(policy_.forward(parameters_, inputs, packed)),
                           copy(value_.forward(parameters_, inputs, packed)),
                           {}};
    outputs.log_std.assign(parameters_.begin(),
                           parameters_.begin() +
                             static_cast<std::ptrdiff_t>(layout_.log_std));
    return outputs;
  }

private:
  Eigen::Map<const Matrix> inputs(std::span<const float> observations) {
    const auto size = spec_.spaces.observation_size();
    if (spec_.observation_scale != 1) {
      scaled_ = array(observations) * spec_.observation_scale;
      observations = {scaled_.data(), observations.size()};
    }
    return {observations.data(), index(size), index(observations.size() / size)};
  }

  /// Into new_. Of discrete actions, also those of all actions into logarithms_; of
  /// continuous ones, the distances in deviations into scaled_actions_.
  /// The components of an action are independent, so logarithms add up.
  void log_probabilities(const Matrix& policy, const Samples& minibatch) {
    const auto n = policy.cols();
    const auto actions = minibatch.actions;
    if (spec_.spaces.discrete()) {
      logarithms_ = policy;
      possible_ = Eigen::Map<const Possible>(
        minibatch.masks.data(), minibatch.masks.empty() ? 0 : policy.rows(), n);
      if (possible_.size() > 0) // What is forbidden has the probability 0.
        logarithms_ =
          (possible_ != 0).select(logarithms_, -std::numeric_limits<float>::infinity());
      new_ = Array::Zero(n);
      each_component([&](std::size_t component, Index begin, Index size) {
        auto part = logarithms_.middleRows(begin, size);
        const Eigen::RowVectorXf largest = part.colwise().maxCoeff();
        part.rowwise() -= largest;
        const Eigen::RowVectorXf sums =
          part.array().exp().matrix().colwise().sum().array().log().matrix();
        part.rowwise() -= sums;
        for (Index i = 0; i < n; ++i)
          new_[i] += part(choice(actions, component, i), i);
      });
      return;
    }
    // Details 23 to 25: normal distributions whose deviations no observation changes.
    const Vector log_std(parameters_.data(), index(layout_.log_std));
    const auto constant = static_cast<float>(0.5 * std::log(2 * std::numbers::pi)) *
                          static_cast<float>(log_std.size());
    inverse_ = (-log_std.array()).exp();
    scaled_actions_ = Eigen::Map<const Matrix>(actions.data(), policy.rows(), n) - policy;
    scaled_actions_.array().colwise() *= inverse_;
    new_ = -0.5F * scaled_actions_.colwise().squaredNorm().transpose().array() -
           (log_std.sum() + constant);
  }

  /// The policy's loss, and into by_log_ its gradient by new_.
  void by_log_probability(const Samples& minibatch, float clip_range, Losses& losses) {
    const auto n = static_cast<float>(minibatch.size());
    // Detail 7: advantages with mean 0 and deviation 1 in each minibatch.
    advantages_ = array(minibatch.advantages);
    if (options_.normalise_advantages && advantages_.size() > 1) {
      advantages_ -= advantages_.mean();
      const auto deviation = std::sqrt(advantages_.square().sum() / (n - 1));
      advantages_ /= deviation + 1e-8F;
    }
    // Detail 8: the clipped surrogate (Schulman et al. 2017, eq. 7). Where the clipped
    // term is the smaller one, it does not depend on the parameters.
    log_ratio_ = new_ - array(minibatch.log_probabilities);
    ratio_ = log_ratio_.exp();
    const Array clipped = ratio_.cwiseMax(1 - clip_range).cwiseMin(1 + clip_range);
    const Array free = advantages_ * ratio_, bound = advantages_ * clipped;
    losses.policy = -static_cast<double>(free.min(bound).mean());
    by_log_ = (free <= bound).select(-free / n, 0.0F * free);
    measure_ratios({log_ratio_.data(), minibatch.size()}, clip_range, losses);
  }

  /// Into policy_errors_.
  void by_logits(std::span<const float> actions, Losses& losses) {
    const auto n = policy_errors_.cols();
    probabilities_ = logarithms_.array().exp();
    if (possible_.size() > 0) { // exp() of -infinity is not quite 0, and times it NaN.
      probabilities_ = (possible_ != 0).select(probabilities_, 0.0F);
      logarithms_ = (possible_ != 0).select(logarithms_, 0.0F);
    }
    // Detail 10: a bonus for entropy.
    const auto weight =
      static_cast<float>(options_.entropy_coefficient) / static_cast<float>(n);
    each_component([&](std::size_t component, Index begin, Index size) {
      const auto logarithms = logarithms_.middleRows(begin, size);
      const auto probabilities = probabilities_.middleRows(begin, size).array();
      auto errors = policy_errors_.middleRows(begin, size);
      const Eigen::RowVectorXf entropies =
        -(probabilities * logarithms.array()).matrix().colwise().sum();
      losses.entropy += static_cast<double>(entropies.mean());
      errors = probabilities * (weight * (logarithms.rowwise() + entropies).array());
      errors.array() -= probabilities.rowwise() * by_log_.transpose();
      for (Index i = 0; i < n; ++i)
        errors(choice(actions, component, i), i) += by_log_[i];
    });
  }

  /// Calls f(number of the component, its first logit, how many it has) for each
  /// component of an action.
  template <class F>
  void each_component(F f) const {
    const auto counts = spec_.spaces.choices();
    Index begin = 0;
    for (std::size_t i = 0; i < counts.size(); begin += counts[i++])
      f(i, begin, Index{counts[i]});
  }

  /// What row `row` has chosen.
  Index choice(std::span<const float> actions, std::size_t component, Index row) const {
    const auto width = spec_.spaces.action_size();
    return static_cast<Index>(actions[static_cast<std::size_t>(row) * width + component]);
  }

  /// Into policy_errors_, and the gradient by the logarithms of the deviations.
  void by_means(Losses& losses) {
    const Vector log_std(parameters_.data(), index(layout_.log_std));
    const auto constant = static_cast<float>(0.5 + 0.5 * std::log(2 * std::numbers::pi));
    losses.entropy = static_cast<double>((log_std.array() + constant).sum());
    policy_errors_ = scaled_actions_.array().colwise() * inverse_;
    policy_errors_.array().rowwise() *= by_log_.transpose();
    Vector(gradient_.data(), log_std.size()) =
      (scaled_actions_.array().square() - 1).matrix() * by_log_.matrix() -
      Eigen::VectorXf::Constant(log_std.size(),
                                static_cast<float>(options_.entropy_coefficient));
  }

  /// The value's loss, and its gradient into value_errors_.
  void by_value(const Matrix& value, const Samples& minibatch, float clip_range,
                Losses& losses) {
    const auto n = static_cast<float>(minibatch.size());
    const auto factor = 2 * static_cast<float>(options_.value_coefficient) / n;
    const auto now = value.row(0).transpose().array();
    const Array distances = now - array(minibatch.returns);
    Array errors = distances.square(), by_value = factor * distances;
    if (options_.clip_values) { // Detail 9: a value moves by no more than the clip range.
      const auto old = array(minibatch.values);
      const Array way = now - old;
      const Array clipped =
        (old + way.cwiseMax(-clip_range).cwiseMin(clip_range) - array(minibatch.returns))
          .square();
      // Not by comparing the errors alone: old + way may differ from now by rounding.
      by_value =
        (way.abs() > clip_range && errors < clipped).select(0.0F * by_value, by_value);
      errors = errors.max(clipped);
    }
    losses.value = static_cast<double>(errors.mean());
    value_errors_ = by_value.matrix().transpose();
  }

  PolicySpec spec_;
  PpoOptions options_;
  PolicyLayout layout_;
  std::vector<float> parameters_, gradient_;
  NetworkGradient policy_, value_;
  // These hold what compute() has found so far in its minibatch.
  Array scaled_, new_, advantages_, log_ratio_, ratio_, by_log_, inverse_;
  Possible possible_; ///< Empty unless actions are masked.
  Matrix logarithms_, probabilities_, scaled_actions_, policy_errors_, value_errors_;
};

} // namespace

std::unique_ptr<LossGradient> gradient_on_eigen(const PolicySpec& spec,
                                                std::span<const float> parameters,
                                                const PpoOptions& options) {
  return std::make_unique<MlpGradient>(spec, parameters, options);
}

} // namespace fiber::rl::ppo
