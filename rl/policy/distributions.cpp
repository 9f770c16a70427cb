// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace fiber::rl {
namespace {
namespace logits_of {

// log(sum(exp(logits))). The largest one is taken out first, or exp() would overflow.
double log_sum(std::span<const float> logits, double largest) {
  double sum = 0;
  for (double logit : logits)
    sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

double largest(std::span<const float> logits) {
  if (logits.empty())
    throw std::invalid_argument("a categorical distribution needs at least one logit");
  return *std::ranges::max_element(logits);
}

void check_same(std::size_t means, std::size_t log_std, std::size_t action) {
  if (means != log_std || means != action)
    throw std::invalid_argument(
      "a Gaussian's means, log standard deviations and action differ in number: " +
      std::to_string(means) + ", " + std::to_string(log_std) + ", " +
      std::to_string(action));
}

constexpr double log_two_pi = 1.8378770664093453;

} // namespace logits_of
} // namespace

std::size_t sample_categorical(std::span<const float> logits, Random& random) {
  const double top = logits_of::largest(logits);
  double sum = 0;
  for (double logit : logits)
    sum += std::exp(logit - top);
  double left = random.uniform() * sum;
  for (std::size_t action = 0; action < logits.size(); ++action)
    if (left -= std::exp(logits[action] - top); left < 0)
      return action;
  return most_probable(logits); // Rounding left a rest.
}

double categorical_log_probability(std::span<const float> logits, std::size_t action) {
  if (action >= logits.size())
    throw std::out_of_range("no action " + std::to_string(action) + "; there are " +
                            std::to_string(logits.size()));
  return logits[action] - logits_of::log_sum(logits, logits_of::largest(logits));
}

double categorical_entropy(std::span<const float> logits) {
  const double total = logits_of::log_sum(logits, logits_of::largest(logits));
  double entropy = 0;
  for (double logit : logits)
    if (const auto probability = std::exp(logit - total); probability > 0)
      entropy -= probability * (logit - total);
  return entropy;
}

std::size_t most_probable(std::span<const float> logits) {
  return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

void sample_gaussian(std::span<const float> means, std::span<const float> log_std,
                     Random& random, std::span<float> action) {
  logits_of::check_same(means.size(), log_std.size(), action.size());
  for (std::size_t i = 0; i < means.size(); ++i)
    action[i] = static_cast<float>(means[i] + std::exp(static_cast<double>(log_std[i])) *
                                                random.normal());
}

double gaussian_log_probability(std::span<const float> means,
                                std::span<const float> log_std,
                                std::span<const float> action) {
  logits_of::check_same(means.size(), log_std.size(), action.size());
  double sum = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double spread = log_std[i];
    const double distance =
      (static_cast<double>(action[i]) - means[i]) * std::exp(-spread);
    sum -= 0.5 * (distance * distance + logits_of::log_two_pi) + spread;
  }
  return sum;
}

double gaussian_entropy(std::span<const float> log_std) {
  double sum = 0;
  for (double spread : log_std)
    sum += 0.5 + 0.5 * logits_of::log_two_pi + spread;
  return sum;
}

void limit_actions(const Spaces& spaces, std::span<float> actions) {
  const auto size = spaces.action_size();
  if (size == 0 || actions.size() % size != 0)
    throw std::invalid_argument(std::to_string(actions.size()) +
                                " numbers are not whole actions of " +
                                std::to_string(size));
  if (spaces.discrete())
    return;
  for (std::size_t i = 0; i < actions.size(); ++i)
    actions[i] =
      std::clamp(actions[i], spaces.action_low[i % size], spaces.action_high[i % size]);
}

} // namespace fiber::rl
