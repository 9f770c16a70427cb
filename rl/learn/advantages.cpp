// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/advantages.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace fiber::rl {
namespace {
namespace rollout_rows {

void check_size(const char* what, std::size_t size, std::size_t expected) {
  if (size != expected)
    throw std::invalid_argument(std::string("the rollout needs ") +
                                std::to_string(expected) + ' ' + what + ", not " +
                                std::to_string(size));
}

void check(const Rollout& rollout) {
  const auto rows = rollout.steps * rollout.envs;
  check_size("rewards", rollout.rewards.size(), rows);
  check_size("values", rollout.values.size(), rows);
  check_size("last values", rollout.last_values.size(), rollout.envs);
  check_size("flags of termination", rollout.terminated.size(), rows);
  check_size("flags of truncation", rollout.truncated.size(), rows);
  if (!rollout.valid.empty())
    check_size("flags of validity", rollout.valid.size(), rows);
  const bool truncated = std::ranges::any_of(rollout.truncated, [](auto f) { return f; });
  if (truncated || !rollout.final_values.empty())
    check_size("final values, because episodes were truncated",
               rollout.final_values.size(), rows);
}

// What follows the action of a row.
struct Next {
  double value; // V of the state after it.
  bool goes_on; // The row below it continues the sum.
};

bool is_valid(const Rollout& rollout, std::size_t row) {
  return rollout.valid.empty() || rollout.valid[row] != 0;
}

Next next_of(const Rollout& rollout, std::size_t t, std::size_t n) {
  const auto row = t * rollout.envs + n;
  if (rollout.terminated[row] != 0)
    return {0, false};
  if (rollout.truncated[row] != 0)
    return {rollout.final_values[row], false};
  if (t + 1 == rollout.steps)
    return {rollout.last_values[n], false};
  return {rollout.values[row + rollout.envs], is_valid(rollout, row + rollout.envs)};
}

float finite(double result, const char* what, std::size_t t, std::size_t n) {
  if (!std::isfinite(result))
    throw std::domain_error(std::string("the ") + what + " at step " + std::to_string(t) +
                            " of environment " + std::to_string(n) +
                            " is not finite: look for such a reward, value or "
                            "log-probability there or later");
  return static_cast<float>(result);
}

// pi(a|s) / mu(a|s). It may overflow, for the bars limit it, but min() would hide a NaN.
double weight_of(float target, float behaviour, std::size_t t, std::size_t n) {
  const double weight = std::exp(static_cast<double>(target) - behaviour);
  if (std::isnan(weight))
    finite(weight, "weight of the action", t, n);
  return weight;
}

} // namespace rollout_rows
} // namespace

void estimate_advantages(const Rollout& rollout, const GaeOptions& options,
                         std::span<float> advantages, std::span<float> returns) {
  namespace rows = rollout_rows;
  rows::check(rollout);
  rows::check_size("places for advantages", advantages.size(), rollout.rewards.size());
  rows::check_size("places for returns", returns.size(), rollout.rewards.size());
  for (std::size_t n = 0; n < rollout.envs; ++n) {
    double later = 0; // A_{t+1}.
    for (std::size_t t = rollout.steps; t-- > 0;) {
      const auto row = t * rollout.envs + n;
      const double value = rollout.values[row];
      if (!rows::is_valid(rollout, row)) {
        advantages[row] = 0;
        returns[row] = rollout.values[row];
        continue; // The row before does not look at `later`.
      }
      const auto next = rows::next_of(rollout, t, n);
      const double delta = rollout.rewards[row] + options.gamma * next.value - value;
      later = delta + (next.goes_on ? options.gamma * options.lambda * later : 0.0);
      advantages[row] = rows::finite(later, "advantage", t, n);
      returns[row] = rows::finite(later + value, "return", t, n);
    }
  }
}

void v_trace(const Rollout& rollout, std::span<const float> behaviour,
             std::span<const float> target, const VTraceOptions& options,
             std::span<float> targets, std::span<float> advantages) {
  namespace rows = rollout_rows;
  const auto size = rollout.rewards.size();
  rows::check(rollout);
  rows::check_size("log-probabilities under the old policy", behaviour.size(), size);
  rows::check_size("log-probabilities under the new policy", target.size(), size);
  rows::check_size("places for targets", targets.size(), size);
  rows::check_size("places for advantages", advantages.size(), size);
  for (std::size_t n = 0; n < rollout.envs; ++n) {
    double later = 0; // v_{t+1} - V(s_{t+1}).
    for (std::size_t t = rollout.steps; t-- > 0;) {
      const auto row = t * rollout.envs + n;
      const double value = rollout.values[row];
      if (!rows::is_valid(rollout, row)) {
        targets[row] = rollout.values[row];
        advantages[row] = 0;
        continue; // The row before does not look at `later`.
      }
      const auto next = rows::next_of(rollout, t, n);
      const double weight = rows::weight_of(target[row], behaviour[row], t, n);
      const double trace = options.lambda * std::min(options.c_bar, weight);
      const double correction = next.goes_on ? later : 0.0;
      const double delta = rollout.rewards[row] + options.gamma * next.value - value;
      later =
        std::min(options.rho_bar, weight) * delta + options.gamma * trace * correction;
      targets[row] = rows::finite(value + later, "target", t, n);
      advantages[row] = rows::finite(std::min(options.policy_rho_bar, weight) *
                                       (delta + options.gamma * correction),
                                     "advantage", t, n);
    }
  }
}

} // namespace fiber::rl
