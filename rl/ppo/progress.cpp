// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/progress.hpp"

#include <limits>
#include <numeric>

namespace fiber::rl::ppo {

const PpoUpdate& Progress::add(const UpdateRecord& record) {
  last_returns_.insert(last_returns_.end(), record.returns.begin(), record.returns.end());
  if (last_returns_.size() > 100)
    last_returns_.erase(last_returns_.begin(), last_returns_.end() - 100);
  ++row_.update;
  row_.steps += record.rows;
  row_.episodes += record.returns.size();
  row_.return_mean = mean_of_last_returns();
  row_.policy_loss = record.losses.policy;
  row_.value_loss = record.losses.value;
  row_.entropy = record.losses.entropy;
  row_.kl = record.losses.kl;
  row_.clip_fraction = record.losses.clip_fraction;
  row_.gradient_norm = record.losses.gradient_norm;
  row_.explained_variance = record.explained_variance;
  row_.learning_rate = record.learning_rate;
  row_.seconds += record.seconds;
  row_.learner_idle = record.seconds > 0 ? record.waited / record.seconds : 0;
  return row_;
}

double Progress::mean_of_last_returns() const {
  if (last_returns_.empty())
    return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(last_returns_.begin(), last_returns_.end(), 0.0) /
         static_cast<double>(last_returns_.size());
}

double explained_variance(std::span<const float> values, std::span<const float> returns) {
  double sum = 0, squares = 0, left = 0, left_squares = 0;
  for (std::size_t i = 0; i < returns.size(); ++i) {
    double target = returns[i], rest = target - static_cast<double>(values[i]);
    sum += target;
    squares += target * target;
    left += rest;
    left_squares += rest * rest;
  }
  auto n = static_cast<double>(returns.size());
  auto variance = squares / n - sum * sum / n / n;
  return variance > 0 ? 1 - (left_squares / n - left * left / n / n) / variance : 0;
}

Rates rates_after(std::uint64_t steps, const PpoOptions& settings) {
  auto left = 1 - static_cast<double>(steps) / static_cast<double>(settings.steps);
  return {settings.learning_rate * (settings.anneal_learning_rate ? left : 1),
          settings.clip_range * (settings.anneal_clip_range ? left : 1)};
}

} // namespace fiber::rl::ppo
