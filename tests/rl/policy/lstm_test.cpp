// SPDX-License-Identifier: Apache-2.0
// A recurrent policy remembers what its caller lets it, and says what is wrong with a
// memory.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/policy.hpp"
#include "tests/rl/policy/golden.hpp"

namespace recurrent_policy {
namespace {

using fiber::rl::Policy;
using fiber::rl::PolicyContext;
using fiber::rl::PolicySpec;

PolicySpec recurrent() {
  PolicySpec spec{.spaces = {.observation_shape = {2}, .actions = 3}, .hidden = {4}};
  spec.lstm = 3;
  return spec;
}

struct RecurrentPolicyTest : testing::Test {
  const PolicySpec spec = recurrent();
  const std::vector<float> parameters =
    fiber::rl::golden_numbers(spec.parameter_count(), 1, 1);
  Policy policy{spec, parameters};
  std::vector<float> memory = std::vector<float>(2 * spec.memory_size());
  const std::vector<float> rows = {0.5F, -1, 2, 0.25F};
};

TEST_F(RecurrentPolicyTest, has_an_lstm_before_each_output) {
  EXPECT_EQ(spec.describe(), "2 -> 4 -> LSTM 3 -> 3 logits, tanh");
  const std::size_t lstm = 12 * 4 + 12 * 3 + 12 + 12;
  EXPECT_EQ(spec.parameter_count(), (2 * 4 + 4) * 2 + lstm * 2 + (3 * 3 + 3) + (3 + 1));
  EXPECT_EQ(spec.memory_size(), 12u);
}

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

// By the equations of torch.nn.LSTM, for one unit.
TEST_F(RecurrentPolicyTest, computes_what_the_equations_say) {
  PolicySpec one{.spaces = {.observation_shape = {1}, .actions = 1}, .hidden = {}};
  one.lstm = 1;
  const auto w = fiber::rl::golden_numbers(one.parameter_count(), 5, 1);
  Policy small(one, w);
  std::vector<float> state = {0.3F, -0.4F, 0, 0};
  const float x = 0.7F;
  small.sample({&x, 1}, {}, {.memory = state});
  const auto gate = [&](std::size_t i) {
    return w[i] * 0.7 + w[4 + i] * 0.3 + w[8 + i] + w[12 + i];
  };
  const double cell = logistic(gate(1)) * -0.4 + logistic(gate(0)) * std::tanh(gate(2));
  EXPECT_NEAR(state[1], cell, 1e-6);
  EXPECT_NEAR(state[0], logistic(gate(3)) * std::tanh(cell), 1e-6);
}

TEST_F(RecurrentPolicyTest, sample_and_best_remember_and_the_others_do_not) {
  const auto before = memory;
  policy.evaluate(rows, {.memory = memory});
  policy.evaluate_values(rows, {.memory = memory});
  policy.evaluate_policy(rows, {.memory = memory});
  EXPECT_EQ(memory, before);
  auto by_best = memory;
  policy.sample(rows, {}, {.memory = memory});
  policy.best(rows, {.memory = by_best});
  EXPECT_EQ(memory, by_best);
  EXPECT_EQ(std::ranges::count(memory, 0.0F), 0);
}

TEST_F(RecurrentPolicyTest, rows_remember_each_their_own) {
  std::vector<float> alone(spec.memory_size());
  const auto first = std::span(rows).first(2), second = std::span(rows).last(2);
  for (int step = 0; step < 3; ++step) {
    const auto together = policy.evaluate(rows, {.memory = memory});
    const std::vector<float> logits(together.policy.begin(), together.policy.end());
    const auto apart = policy.evaluate(second, {.memory = alone});
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(logits[3 + i], apart.policy[i], 1e-6);
    policy.best(second, {.memory = alone});
    policy.best(rows, {.memory = memory});
  }
  std::vector<float> other(spec.memory_size());
  policy.best(first, {.memory = other});
  const float after_second = policy.evaluate(second, {.memory = alone}).policy[0];
  EXPECT_NE(policy.evaluate(second, {.memory = other}).policy[0], after_second);
}

TEST_F(RecurrentPolicyTest, a_memory_of_another_size_is_an_error_with_both_numbers) {
  const auto error_of = [&](std::span<float> given) -> std::string {
    try {
      policy.best(rows, {.memory = given});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(error_of({}), "a policy of 2 -> 4 -> LSTM 3 -> 3 logits, tanh needs a memory "
                          "of 24 floats for 2 observations, not 0: give "
                          "PolicyContext::memory");
  EXPECT_NE(error_of(std::span(memory).first(12))
              .find("24 floats for 2 observations, not "
                    "12"),
            std::string::npos);
}

TEST_F(RecurrentPolicyTest, begins_with_orthogonal_weights_and_without_biases) {
  PolicySpec linear{.spaces = {.observation_shape = {2}, .actions = 2}, .hidden = {}};
  linear.lstm = 3;
  const auto w = fiber::rl::initial_parameters(linear, 1);
  const auto product = [&](std::size_t offset, std::size_t width, std::size_t i,
                           std::size_t j) { // Of two columns of 12.
    double sum = 0;
    for (std::size_t row = 0; row < 12; ++row)
      sum += w[offset + row * width + i] * w[offset + row * width + j];
    return sum;
  };
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      EXPECT_NEAR(product(0, 2, i, j), i == j ? 1 : 0, 1e-6);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_NEAR(product(24, 3, i, j), i == j ? 1 : 0, 1e-6);
  EXPECT_TRUE(std::ranges::all_of(std::span(w).subspan(60, 24),
                                  [](float bias) { return bias == 0; }));
}

TEST_F(RecurrentPolicyTest, images_are_refused) {
  auto spec = fiber::rl::default_policy({.observation_shape = {4, 84, 84}, .actions = 2});
  spec.lstm = 8;
  EXPECT_THROW(spec.check(), std::invalid_argument);
}

} // namespace
} // namespace recurrent_policy
