// SPDX-License-Identifier: Apache-2.0
// A policy gives what LibTorch's networks give for the same flat vector of parameters,
// and what it draws depends on the key alone. record_golden.cpp made the golden numbers;
// the PPO example compares with LibTorch live.

#include "fiber/rl/policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/vector.hpp>
#include <gtest/gtest.h>

#include "fiber/rl/distributions.hpp"
#include "tests/rl/policy/golden.hpp"

namespace fiber::rl {
namespace {

constexpr double same_as_libtorch = 1e-5;

const std::vector<double> golden_logits = {0.00829043984, 0.180498689,  0.808955669,
                                           0.775804341,   -0.531290412, 0.400082558,
                                           2.76486945,    -2.19115019,  1.86619782};
const std::vector<double> golden_values = {-0.194548488, 1.89911819, -0.833577752};
const std::vector<double> golden_log_std = {-0.134510145, -0.148735642};
const std::vector<double> golden_means = {-0.768442154, -0.463538408, -1.97770882,
                                          -0.95574677,  -1.04914176,  -1.85687375};
const std::vector<double> golden_continuous_values = {-1.20227861, -0.260692775,
                                                      2.68157077};
const std::vector<double> nature_logits = {-0.794701457, 0.179769054, 0.854258358,
                                           -1.52574837,  0.601739109, -1.13125229,
                                           0.798580408,  -1.62575889};
const std::vector<double> nature_values = {0.331683815, -0.537730157};

PolicySpec discrete() {
  return {.spaces = {.observation_shape = {5}, .actions = 3}, .hidden = {16, 8}};
}

PolicySpec continuous() {
  return {
    .spaces = {.observation_shape = {5}, .action_low = {-1, -1}, .action_high = {1, 1}},
    .hidden = {16, 8}};
}

Policy golden_policy(const PolicySpec& spec, double bound = 1) {
  return {spec, golden_numbers(spec.parameter_count(), 1, bound)};
}

std::vector<float> three_rows() {
  return golden_numbers(15, 2, 3);
}

void expect_near(std::span<const float> numbers, const std::vector<double>& golden) {
  ASSERT_EQ(numbers.size(), golden.size());
  for (std::size_t i = 0; i < golden.size(); ++i)
    EXPECT_NEAR(numbers[i], golden[i], same_as_libtorch) << "number " << i;
}

std::string error_of(auto&& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(PolicyTest, gives_libtorchs_logits_and_values) {
  auto policy = golden_policy(discrete());
  const auto outputs = policy.evaluate(three_rows());
  expect_near(outputs.policy, golden_logits);
  expect_near(outputs.values, golden_values);
}

TEST(PolicyTest, gives_libtorchs_means_and_finds_its_log_std) {
  auto policy = golden_policy(continuous());
  expect_near(policy.log_std(), golden_log_std);
  expect_near(policy.evaluate_policy(three_rows()), golden_means);
  expect_near(policy.evaluate_values(three_rows()), golden_continuous_values);
}

TEST(PolicyTest, gives_libtorchs_outputs_of_the_nature_network) {
  auto spec = default_policy({.observation_shape = {4, 84, 84}, .actions = 4});
  spec.observation_scale = 1.0f / 255;
  auto policy = golden_policy(spec, 0.1);
  const auto images = golden_numbers(2 * 4 * 84 * 84, 3, 255);
  const auto outputs = policy.evaluate(images);
  expect_near(outputs.policy, nature_logits);
  expect_near(outputs.values, nature_values);
}

TEST(PolicyTest, relu_lets_only_positive_numbers_through) {
  const PolicySpec spec{.spaces = {.observation_shape = {1}, .actions = 2},
                        .hidden = {2},
                        .activation = Activation::relu};
  // Hidden units x and -x; logits are these; the value is 3 times the first, plus 1.
  Policy policy(spec, std::vector<float>{1, -1, 0, 0, 1, 0, 0, 1, 0, 0, //
                                         1, -1, 0, 0, 3, 0, 1});
  const auto outputs = policy.evaluate(std::vector<float>{2, -5});
  EXPECT_EQ(std::vector<float>(outputs.policy.begin(), outputs.policy.end()),
            (std::vector<float>{2, 0, 0, 5}));
  EXPECT_EQ(std::vector<float>(outputs.values.begin(), outputs.values.end()),
            (std::vector<float>{7, 1}));
}

TEST(PolicyTest, without_hidden_layers_is_linear) {
  const PolicySpec spec{.spaces = {.observation_shape = {2}, .actions = 1}, .hidden = {}};
  Policy policy(spec, std::vector<float>{2, 3, 4, 5, 6, 7});
  const auto outputs = policy.evaluate(std::vector<float>{10, 100});
  EXPECT_EQ(outputs.policy[0], 324);
  EXPECT_EQ(outputs.values[0], 657);
}

TEST(PolicyTest, a_row_does_not_depend_on_the_others) {
  auto policy = golden_policy(discrete());
  const auto rows = golden_numbers(5 * 33, 4, 3);
  const auto batch = policy.evaluate_policy(rows);
  const std::vector<float> together(batch.begin(), batch.end());
  for (std::size_t row = 0; row < 33; ++row) {
    const auto alone = policy.evaluate_policy(std::span(rows).subspan(row * 5, 5));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(alone[i], together[row * 3 + i], 1e-6);
  }
}

TEST(PolicyTest, the_same_key_draws_the_same_whatever_the_batch) {
  auto policy = golden_policy(continuous());
  const auto rows = three_rows();
  const std::vector<int> ids = {7, 8, 9};
  const auto all = policy.sample(rows, {.seed = 1, .step = 2, .env_ids = ids});
  const std::vector<float> actions(all.actions.begin(), all.actions.end());
  const auto one =
    policy.sample(std::span(rows).subspan(5, 5),
                  {.seed = 1, .step = 2, .env_ids = std::span(ids).subspan(1, 1)});
  EXPECT_NEAR(one.actions[0], actions[2], 1e-5);
  EXPECT_NEAR(one.actions[1], actions[3], 1e-5);
  const auto later = policy.sample(rows, {.seed = 1, .step = 3, .env_ids = ids});
  EXPECT_NE(later.actions[0], actions[0]);
}

TEST(PolicyTest, draws_come_with_their_log_probabilities_and_values) {
  auto policy = golden_policy(discrete());
  const auto drawn = policy.sample(three_rows(), {.seed = 5});
  ASSERT_EQ(drawn.rows, 3);
  ASSERT_EQ(drawn.actions.size(), 3);
  expect_near(drawn.values, golden_values);
  const std::vector<float> actions(drawn.actions.begin(), drawn.actions.end());
  const std::vector<float> logged(drawn.log_probabilities.begin(),
                                  drawn.log_probabilities.end());
  const auto logits = policy.evaluate_policy(three_rows());
  for (std::size_t row = 0; row < 3; ++row)
    EXPECT_FLOAT_EQ(logged[row], static_cast<float>(categorical_log_probability(
                                   logits.subspan(row * 3, 3),
                                   static_cast<std::size_t>(actions[row]))));
}

TEST(PolicyTest, draws_all_actions_over_time_and_the_best_one_for_evaluation) {
  auto policy = golden_policy(discrete());
  const auto rows = three_rows();
  std::set<float> drawn;
  for (std::uint64_t step = 0; step < 200; ++step)
    drawn.insert(policy.sample(rows, {.seed = 6, .step = step}).actions[0]);
  EXPECT_GT(drawn.size(), 1);
  const auto logits = policy.evaluate_policy(rows);
  const auto top = most_probable(logits.subspan(3, 3));
  EXPECT_EQ(policy.best(rows)[1], static_cast<float>(top));
  auto gaussian = golden_policy(continuous());
  expect_near(gaussian.best(rows), golden_means);
}

TEST(PolicyTest, an_error_names_both_numbers_of_parameters) {
  EXPECT_EQ(error_of([] { Policy(discrete(), std::vector<float>(7)); }),
            "a policy of 5 -> 16 -> 8 -> 3 logits, tanh has 500 parameters, not 7");
}

TEST(PolicyTest, an_error_names_the_row_of_a_broken_observation) {
  auto policy = golden_policy(discrete());
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity()}) {
    auto rows = three_rows();
    rows[13] = bad;
    EXPECT_EQ(error_of([&] { policy.evaluate(rows); }),
              "the observation in row 2 has a number that is not finite");
  }
}

TEST(PolicyTest, an_error_names_the_row_of_an_output_that_is_not_finite) {
  for (auto activation : {Activation::tanh, Activation::relu}) {
    auto spec = discrete();
    spec.activation = activation;
    auto parameters = golden_numbers(spec.parameter_count(), 1, 1);
    parameters[0] = std::numeric_limits<float>::quiet_NaN();
    Policy policy(spec, parameters);
    EXPECT_TRUE(error_of([&] {
                  policy.evaluate(three_rows());
                }).starts_with("the policy's output in row 0 is not finite"));
  }
}

TEST(PolicyTest, refuses_parts_of_observations_and_other_numbers_of_ids) {
  auto policy = golden_policy(discrete());
  EXPECT_THROW(policy.evaluate(std::vector<float>(7)), std::invalid_argument);
  const std::vector<int> ids = {1};
  EXPECT_THROW(policy.sample(three_rows(), {.env_ids = ids}), std::invalid_argument);
}

TEST(PolicyTest, takes_new_parameters) {
  auto policy = golden_policy(discrete());
  policy.set_parameters(std::vector<float>(discrete().parameter_count()));
  EXPECT_EQ(policy.evaluate(three_rows()).values[1], 0);
  EXPECT_THROW(policy.set_parameters({}), std::invalid_argument);
}

TEST(PolicySpecTest, counts_parameters) {
  EXPECT_EQ(discrete().parameter_count(), 259 + 241);
  EXPECT_EQ(continuous().parameter_count(), 2 + 250 + 241);
  // Nature's network with 4 actions: 8224 + 32832 + 36928 + 1606144 + 2052 + 513.
  const auto nature = default_policy({.observation_shape = {4, 84, 84}, .actions = 4});
  EXPECT_EQ(nature.parameter_count(), 1686693);
}

TEST(PolicySpecTest, says_what_is_wrong) {
  auto spec = discrete();
  spec.convolution = true;
  EXPECT_EQ(error_of([&] { spec.check(); }),
            "convolutions need observations of channels x height x width, at least 36 x "
            "36, not 5");
  spec = discrete();
  spec.hidden = {4, 0};
  EXPECT_THROW(spec.check(), std::invalid_argument);
  spec = discrete();
  spec.spaces.actions = 0;
  EXPECT_THROW(spec.check(), std::invalid_argument);
  spec = continuous();
  spec.spaces.action_high.pop_back();
  EXPECT_THROW(spec.check(), std::invalid_argument);
}

TEST(PolicySpecTest, comes_back_from_bytes) {
  auto spec = continuous();
  spec.activation = Activation::relu;
  std::stringstream stream;
  boost::archive::binary_oarchive(stream) << std::as_const(spec);
  PolicySpec copy;
  boost::archive::binary_iarchive(stream) >> copy;
  EXPECT_EQ(copy, spec);
  EXPECT_NE(copy, continuous());
}

TEST(InitialParametersTest, are_orthogonal_with_the_gains_of_ppo) {
  const auto spec = discrete();
  const auto parameters = initial_parameters(spec, 1);
  ASSERT_EQ(parameters.size(), spec.parameter_count());
  // The scalar product of two rows of a layer, or of two columns.
  auto product = [&](std::size_t offset, std::size_t inputs, std::size_t a,
                     std::size_t b) {
    double sum = 0;
    for (std::size_t i = 0; i < inputs; ++i)
      sum += parameters[offset + a * inputs + i] * parameters[offset + b * inputs + i];
    return sum;
  };
  EXPECT_NEAR(product(16 * 6, 16, 0, 0), 2, 1e-5); // 8 rows of 16: orthonormal rows.
  EXPECT_NEAR(product(16 * 6, 16, 0, 1), 0, 1e-5);
  EXPECT_NEAR(product(16 * 6 + 8 * 17, 8, 2, 2), 1e-4, 1e-8); // The logits.
  EXPECT_NEAR(product(500 - 9, 8, 0, 0), 1, 1e-5);            // The value.
  EXPECT_EQ(parameters[16 * 5], 0);                           // A bias.
  EXPECT_EQ(initial_parameters(spec, 1), parameters);
  EXPECT_NE(initial_parameters(spec, 2), parameters);
}

} // namespace
} // namespace fiber::rl
