// SPDX-License-Identifier: Apache-2.0
// Draws follow the distributions that the outputs of a policy mean, and log-probabilities
// and entropies are those of these distributions.

#include "fiber/rl/distributions.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

// Probabilities 0.1, 0.2, 0.7, moved by a constant that must not matter.
std::vector<float> logits(float moved = 0) {
  return {std::log(0.1f) + moved, std::log(0.2f) + moved, std::log(0.7f) + moved};
}

TEST(CategoricalTest, draws_each_action_as_often_as_it_is_probable) {
  Random random(1);
  std::array<int, 3> counts = {};
  for (int i = 0; i < 100'000; ++i)
    ++counts[sample_categorical(logits(), random)];
  // Five standard deviations.
  EXPECT_NEAR(counts[0], 10'000, 475);
  EXPECT_NEAR(counts[1], 20'000, 633);
  EXPECT_NEAR(counts[2], 70'000, 725);
}

TEST(CategoricalTest, has_the_log_probabilities_of_softmax) {
  for (float moved : {0.0f, 500.0f, -500.0f}) {
    EXPECT_NEAR(categorical_log_probability(logits(moved), 0), std::log(0.1), 1e-4);
    EXPECT_NEAR(categorical_log_probability(logits(moved), 2), std::log(0.7), 1e-4);
  }
  EXPECT_THROW(categorical_log_probability(logits(), 3), std::out_of_range);
}

TEST(CategoricalTest, has_the_entropy_of_its_probabilities) {
  const double entropy =
    -(0.1 * std::log(0.1) + 0.2 * std::log(0.2) + 0.7 * std::log(0.7));
  EXPECT_NEAR(categorical_entropy(logits()), entropy, 1e-6);
  EXPECT_NEAR(categorical_entropy(logits(300)), entropy, 1e-4);
  EXPECT_NEAR(categorical_entropy(std::vector<float>{0, -2000}), 0, 1e-12);
}

TEST(CategoricalTest, never_draws_what_is_impossible) {
  Random random(2);
  const std::vector<float> certain = {-1000, 1000, -1000};
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(sample_categorical(certain, random), 1);
  EXPECT_THROW(sample_categorical({}, random), std::invalid_argument);
}

TEST(CategoricalTest, the_first_of_equal_logits_is_the_most_probable) {
  EXPECT_EQ(most_probable(std::vector<float>{1, 3, 3, 2}), 1);
}

TEST(GaussianTest, draws_with_its_mean_and_deviation) {
  Random random(3);
  const std::vector<float> means = {2, -1}, log_std = {std::log(0.5f), 1};
  std::vector<float> action(2);
  std::array<double, 2> sums = {}, squares = {};
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) {
    sample_gaussian(means, log_std, random, action);
    for (std::size_t c = 0; c < 2; ++c) {
      sums[c] += action[c];
      squares[c] += (action[c] - means[c]) * (action[c] - means[c]);
    }
  }
  for (std::size_t c = 0; c < 2; ++c) {
    const double deviation = std::exp(log_std[c]);
    EXPECT_NEAR(sums[c] / draws, means[c], 5 * deviation / std::sqrt(draws));
    EXPECT_NEAR(std::sqrt(squares[c] / draws) / deviation, 1, 0.012);
  }
}

TEST(GaussianTest, has_the_log_density_and_entropy_of_the_normal_distribution) {
  const std::vector<float> means = {2, -1}, log_std = {std::log(0.5f), 1};
  auto log_density = [](double x, double mean, double deviation) {
    const double z = (x - mean) / deviation;
    return -0.5 * z * z - std::log(deviation * std::sqrt(2 * std::numbers::pi));
  };
  EXPECT_NEAR(gaussian_log_probability(means, log_std, std::vector<float>{2.5, 3}),
              log_density(2.5, 2, 0.5) + log_density(3, -1, std::numbers::e), 1e-6);
  const double unit = 0.5 * std::log(2 * std::numbers::pi * std::numbers::e);
  EXPECT_NEAR(gaussian_entropy(log_std), 2 * unit + std::log(0.5) + 1, 1e-6);
}

TEST(GaussianTest, refuses_spans_of_different_sizes) {
  EXPECT_THROW(gaussian_log_probability(std::vector<float>(2), std::vector<float>(1),
                                        std::vector<float>(2)),
               std::invalid_argument);
}

TEST(LimitActionsTest, keeps_continuous_actions_within_their_bounds) {
  const Spaces spaces{
    .observation_shape = {1}, .action_low = {-1, -2}, .action_high = {1, 2}};
  std::vector<float> actions = {-5, 5, 0.5, -1.5};
  limit_actions(spaces, actions);
  EXPECT_EQ(actions, (std::vector<float>{-1, 2, 0.5, -1.5}));
  EXPECT_THROW(limit_actions(spaces, std::span(actions).first(3)), std::invalid_argument);
}

TEST(LimitActionsTest, leaves_discrete_actions_alone) {
  std::vector<float> actions = {0, 7};
  limit_actions({.observation_shape = {1}, .actions = 8}, actions);
  EXPECT_EQ(actions, (std::vector<float>{0, 7}));
}

} // namespace
} // namespace fiber::rl
