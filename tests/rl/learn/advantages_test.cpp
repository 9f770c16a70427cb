// SPDX-License-Identifier: Apache-2.0
// Advantages and V-trace targets are those of the papers, and no sum crosses the end of
// an episode or the row of a lost job.

#include "fiber/rl/advantages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {

// Owns what a Rollout looks at.
struct Rows {
  std::size_t steps, envs;
  std::vector<double> rewards = std::vector<double>(steps * envs);
  std::vector<float> values = std::vector<float>(steps * envs);
  std::vector<float> last_values = std::vector<float>(envs);
  std::vector<float> final_values = std::vector<float>(steps * envs);
  std::vector<std::uint8_t> terminated = std::vector<std::uint8_t>(steps * envs);
  std::vector<std::uint8_t> truncated = std::vector<std::uint8_t>(steps * envs);
  std::vector<std::uint8_t> valid = std::vector<std::uint8_t>(steps * envs, 1);

  Rollout rollout() const {
    return {.steps = steps,
            .envs = envs,
            .rewards = rewards,
            .values = values,
            .last_values = last_values,
            .final_values = final_values,
            .terminated = terminated,
            .truncated = truncated,
            .valid = valid};
  }
};

// Three steps of one environment: V = 1, 2, 3, then 4; rewards 10, 20, 30.
Rows three_steps() {
  Rows rows{.steps = 3, .envs = 1};
  rows.rewards = {10, 20, 30};
  rows.values = {1, 2, 3};
  rows.last_values = {4};
  rows.final_values = {100, 100, 100};
  return rows;
}

struct Result {
  std::vector<float> advantages, returns;
};

Result gae(const Rows& rows, double gamma, double lambda) {
  Result result{std::vector<float>(rows.steps * rows.envs),
                std::vector<float>(rows.steps * rows.envs)};
  estimate_advantages(rows.rollout(), {.gamma = gamma, .lambda = lambda},
                      result.advantages, result.returns);
  return result;
}

Rows random_rows(std::size_t steps, std::size_t envs, std::uint64_t seed) {
  Rows rows{.steps = steps, .envs = envs};
  Random random(seed);
  for (auto& reward : rows.rewards)
    reward = random.normal();
  for (auto* values : {&rows.values, &rows.last_values, &rows.final_values})
    for (auto& value : *values)
      value = static_cast<float>(random.normal());
  return rows;
}

TEST(AdvantagesTest, follow_the_recursion_by_hand) {
  const auto result = gae(three_steps(), 0.5, 0.5);
  // delta = 10 + 1 - 1, 20 + 1.5 - 2, 30 + 2 - 3.
  EXPECT_EQ(result.advantages, (std::vector<float>{16.6875, 26.75, 29}));
  EXPECT_EQ(result.returns, (std::vector<float>{17.6875, 28.75, 32}));
}

TEST(AdvantagesTest, lambda_0_gives_one_step_differences) {
  EXPECT_EQ(gae(three_steps(), 0.5, 0).advantages, (std::vector<float>{10, 19.5, 29}));
}

TEST(AdvantagesTest, lambda_1_gives_discounted_returns) {
  const auto rows = random_rows(20, 3, 1);
  const auto result = gae(rows, 0.9, 1);
  for (std::size_t n = 0; n < 3; ++n) {
    double sum = rows.last_values[n];
    for (std::size_t t = 20; t-- > 0;) {
      sum = rows.rewards[t * 3 + n] + 0.9 * sum;
      EXPECT_NEAR(result.returns[t * 3 + n], sum, 1e-5) << "step " << t;
    }
  }
}

TEST(AdvantagesTest, a_terminated_step_has_no_value_after_it) {
  auto rows = three_steps();
  rows.terminated[1] = 1;
  // delta = 10, 20 - 2, 29; nothing of the last step reaches the first two.
  EXPECT_EQ(gae(rows, 0.5, 0.5).advantages, (std::vector<float>{14.5, 18, 29}));
}

TEST(AdvantagesTest, a_truncated_step_takes_the_value_of_its_final_observation) {
  auto rows = three_steps();
  rows.truncated[1] = 1;
  EXPECT_EQ(gae(rows, 0.5, 0.5).advantages, (std::vector<float>{27, 68, 29}));
}

TEST(AdvantagesTest, terminated_wins_over_truncated) {
  auto rows = three_steps();
  rows.terminated[1] = rows.truncated[1] = 1;
  EXPECT_EQ(gae(rows, 0.5, 0.5).advantages, (std::vector<float>{14.5, 18, 29}));
}

TEST(AdvantagesTest, the_last_step_can_end_an_episode) {
  auto rows = three_steps();
  rows.terminated[2] = 1;
  EXPECT_EQ(gae(rows, 0.5, 0.5).advantages[2], 27);
  rows.terminated[2] = 0;
  rows.truncated[2] = 1;
  EXPECT_EQ(gae(rows, 0.5, 0.5).advantages[2], 77);
}

TEST(AdvantagesTest, the_row_of_a_lost_job_is_left_out_and_ends_the_sum_before_it) {
  auto rows = three_steps();
  rows.valid[1] = 0;
  rows.truncated[1] = 1;
  rows.rewards[1] = std::numeric_limits<double>::quiet_NaN(); // Nobody reads it.
  const auto result = gae(rows, 0.5, 0.5);
  EXPECT_EQ(result.advantages, (std::vector<float>{10, 0, 29}));
  EXPECT_EQ(result.returns, (std::vector<float>{11, 2, 32}));
}

TEST(AdvantagesTest, environments_do_not_touch_each_other) {
  auto two = random_rows(5, 2, 2);
  two.terminated[2 * 2 + 1] = 1;
  const auto both = gae(two, 0.99, 0.95);
  Rows one{.steps = 5, .envs = 1};
  for (std::size_t t = 0; t < 5; ++t) {
    one.rewards[t] = two.rewards[t * 2];
    one.values[t] = two.values[t * 2];
  }
  one.last_values[0] = two.last_values[0];
  const auto alone = gae(one, 0.99, 0.95);
  for (std::size_t t = 0; t < 5; ++t)
    EXPECT_EQ(both.advantages[t * 2], alone.advantages[t]);
}

TEST(AdvantagesTest, no_mask_means_that_all_rows_are_valid) {
  auto rows = three_steps();
  rows.valid.clear();
  rows.final_values.clear();
  EXPECT_EQ(gae(rows, 0.5, 0.5).advantages, (std::vector<float>{16.6875, 26.75, 29}));
}

TEST(AdvantagesTest, truncation_without_final_values_is_an_error) {
  auto rows = three_steps();
  rows.final_values.clear();
  rows.truncated[0] = 1;
  EXPECT_THROW(gae(rows, 0.5, 0.5), std::invalid_argument);
}

TEST(AdvantagesTest, an_error_names_the_step_and_the_environment_of_a_nan) {
  auto rows = random_rows(4, 3, 3);
  rows.rewards[2 * 3 + 1] = std::numeric_limits<double>::quiet_NaN();
  try {
    gae(rows, 0.99, 0.95);
    FAIL();
  } catch (const std::domain_error& error) {
    EXPECT_NE(std::string(error.what()).find("step 2 of environment 1"),
              std::string::npos)
      << error.what();
  }
}

TEST(AdvantagesTest, spans_of_another_size_are_an_error_with_both_numbers) {
  auto rows = three_steps();
  rows.values.pop_back();
  try {
    gae(rows, 0.5, 0.5);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "the rollout needs 3 values, not 2");
  }
}

struct VTraceResult {
  std::vector<float> targets, advantages;
};

VTraceResult traced(const Rows& rows, const std::vector<float>& behaviour,
                    const std::vector<float>& target, const VTraceOptions& options) {
  VTraceResult result{std::vector<float>(behaviour.size()),
                      std::vector<float>(behaviour.size())};
  v_trace(rows.rollout(), behaviour, target, options, result.targets, result.advantages);
  return result;
}

TEST(VTraceTest, on_policy_the_targets_are_n_step_returns) {
  const auto rows = random_rows(12, 2, 4);
  const std::vector<float> same(24, -0.7f);
  const auto result = traced(rows, same, same, {.gamma = 0.9});
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t t = 0; t < 12; ++t) {
      // Section 4.1: sum of discounted rewards, then the discounted last value.
      double sum = 0;
      for (std::size_t u = t; u < 12; ++u)
        sum += std::pow(0.9, u - t) * rows.rewards[u * 2 + n];
      sum += std::pow(0.9, 12 - t) * rows.last_values[n];
      EXPECT_NEAR(result.targets[t * 2 + n], sum, 1e-5);
      EXPECT_NEAR(result.advantages[t * 2 + n], sum - rows.values[t * 2 + n], 1e-5);
    }
}

TEST(VTraceTest, off_policy_the_targets_are_the_sum_of_equation_1) {
  const auto rows = random_rows(8, 1, 5);
  Random random(6);
  std::vector<float> behaviour(8), target(8);
  for (std::size_t t = 0; t < 8; ++t) {
    behaviour[t] = static_cast<float>(random.normal());
    target[t] = static_cast<float>(random.normal());
  }
  const VTraceOptions options{
    .gamma = 0.9, .rho_bar = 1.5, .c_bar = 0.8, .policy_rho_bar = 1.2, .lambda = 0.95};
  const auto result = traced(rows, behaviour, target, options);
  auto value = [&](std::size_t t) {
    return t == 8 ? rows.last_values[0] : rows.values[t];
  };
  auto weight = [&](std::size_t t) { return std::exp(target[t] - behaviour[t]); };
  std::vector<double> targets(9, rows.last_values[0]);
  for (std::size_t s = 0; s < 8; ++s) {
    targets[s] = value(s);
    double trace = 1;
    for (std::size_t t = s; t < 8; ++t) {
      const double delta = std::min(1.5, static_cast<double>(weight(t))) *
                           (rows.rewards[t] + 0.9 * value(t + 1) - value(t));
      targets[s] += std::pow(0.9, t - s) * trace * delta;
      trace *= 0.95 * std::min(0.8, static_cast<double>(weight(t)));
    }
    EXPECT_NEAR(result.targets[s], targets[s], 1e-5) << "step " << s;
  }
  for (std::size_t s = 0; s < 8; ++s)
    EXPECT_NEAR(result.advantages[s],
                std::min(1.2, static_cast<double>(weight(s))) *
                  (rows.rewards[s] + 0.9 * targets[s + 1] - value(s)),
                1e-5)
      << "step " << s;
}

TEST(VTraceTest, sums_stop_at_ends_of_episodes_and_at_lost_rows) {
  // The new policy is e times as likely to act as the old one did, so both weights are 1.
  const std::vector<float> behaviour(3, -1.0f), target(3, 0.0f);
  auto rows = three_steps();
  rows.terminated[1] = 1;
  auto result = traced(rows, behaviour, target, {.gamma = 0.5});
  EXPECT_EQ(result.targets, (std::vector<float>{20, 20, 32}));
  EXPECT_EQ(result.advantages, (std::vector<float>{19, 18, 29}));

  rows.terminated[1] = 0;
  rows.truncated[1] = 1;
  result = traced(rows, behaviour, target, {.gamma = 0.5});
  EXPECT_EQ(result.targets, (std::vector<float>{45, 70, 32}));
  EXPECT_EQ(result.advantages, (std::vector<float>{44, 68, 29}));

  rows.valid[1] = 0;
  result = traced(rows, behaviour, target, {.gamma = 0.5});
  EXPECT_EQ(result.targets, (std::vector<float>{11, 2, 32}));
  EXPECT_EQ(result.advantages, (std::vector<float>{10, 0, 29}));
}

TEST(VTraceTest, a_log_probability_that_is_not_a_number_is_an_error) {
  const auto rows = three_steps();
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(traced(rows, {0, nan, 0}, {0, 0, 0}, {}), std::domain_error);
}

} // namespace
} // namespace fiber::rl
