// SPDX-License-Identifier: Apache-2.0
// A run learns, and is the same to the last bit whenever it is run again.

#include "es/training.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "es/quadratic.hpp"

namespace es {
namespace {

TrainingOptions short_cartpole() {
  auto options = training_options("cartpole");
  options.table_size = 1 << 18;
  options.episodes = 2;
  options.evaluations = 20;
  options.optimizer.directions = 64;
  options.optimizer.learning_rate = 0.03;
  options.optimizer.sigma = 0.1f;
  options.iterations = 25;
  return options;
}

TEST(TrainingTest, finds_the_target_of_the_quadratic) {
  const auto options = training_options("quadratic");
  const auto noise = make_noise_table(options.table_size, options.seed);
  const auto evaluator = serial_evaluator(noise);
  Training training(options, noise);
  while (!training.finished())
    training.step(evaluator);
  EXPECT_EQ(training.state().curve.size(), options.iterations);
  EXPECT_GT(training.state().curve.back().policy_mean, -0.05);
  for (std::size_t i = 0; i < Quadratic::target.size(); ++i)
    EXPECT_NEAR(training.parameters()[i], Quadratic::target[i], 0.2);
}

TEST(TrainingTest, a_short_run_learns_to_hold_the_pole) {
  const auto options = short_cartpole();
  const auto noise = make_noise_table(options.table_size, options.seed);
  const auto evaluator = serial_evaluator(noise);
  Training training(options, noise);
  while (!training.finished())
    training.step(evaluator);
  EXPECT_LT(training.state().curve.front().policy_mean, 150);
  EXPECT_GT(training.state().curve.back().policy_mean, 400);
}

TEST(TrainingTest, a_run_cut_anywhere_and_resumed_ends_as_one_that_was_not) {
  auto options = short_cartpole();
  options.iterations = 6;
  const auto noise = make_noise_table(options.table_size, options.seed);
  const auto evaluator = serial_evaluator(noise);
  Training whole(options, noise);
  while (!whole.finished())
    whole.step(evaluator);
  for (int cut = 1; cut < 6; ++cut) {
    Training first(options, noise);
    for (int i = 0; i < cut; ++i)
      first.step(evaluator);
    Training second(options, noise, first.state());
    while (!second.finished())
      second.step(evaluator);
    EXPECT_TRUE(std::ranges::equal(second.parameters(), whole.parameters()));
    ASSERT_EQ(second.state().curve.size(), whole.state().curve.size());
    EXPECT_EQ(second.state().curve.back().policy_mean,
              whole.state().curve.back().policy_mean);
    EXPECT_EQ(second.state().curve.back().episodes, whole.state().curve.back().episodes);
  }
}

TEST(TrainingTest, another_seed_gives_another_run) {
  auto options = short_cartpole();
  options.iterations = 1;
  auto last_parameter = [&](std::uint64_t seed) {
    options.seed = seed;
    const auto noise = make_noise_table(options.table_size, seed);
    Training training(options, noise);
    training.step(serial_evaluator(noise));
    return training.parameters().back();
  };
  EXPECT_NE(last_parameter(1), last_parameter(2));
}

TEST(TrainingTest, the_mark_must_be_reached_twice_to_count_as_solved) {
  auto options = short_cartpole();
  const auto noise = make_noise_table(options.table_size, options.seed);
  double confirmation = 474;
  auto evaluator = serial_evaluator(noise);
  evaluator.policy = [&](const Generation&, Use use, std::uint64_t count) {
    return std::vector<double>(count,
                               use == Use::confirmation_episode ? confirmation : 500);
  };
  Training training(options, noise);
  training.step(evaluator);
  EXPECT_FALSE(training.state().solved);
  EXPECT_FALSE(training.finished());
  confirmation = 475;
  training.step(evaluator);
  EXPECT_TRUE(training.state().solved);
  EXPECT_TRUE(training.finished());
  EXPECT_EQ(training.state().confirmed_mean, 475);
}

TEST(TrainingTest, no_two_uses_of_chance_share_a_stream) {
  const auto first = [](Use use) { return Random(1, use, {0, 0}).next(); };
  EXPECT_NE(first(Use::training_episode), first(Use::evaluation_episode));
  EXPECT_NE(first(Use::evaluation_episode), first(Use::confirmation_episode));
}

TEST(TrainingTest, a_fingerprint_names_all_but_the_number_of_iterations) {
  const auto options = training_options("cartpole");
  auto other = options;
  other.iterations = 1;
  EXPECT_EQ(other.fingerprint(), options.fingerprint());
  other.optimizer.sigma *= 2;
  EXPECT_NE(other.fingerprint(), options.fingerprint());
}

TEST(PolicyTest, computes_what_it_says) {
  // 1 observation, 2 hidden units, 1 output: v . tanh(w x + b) + c.
  const std::vector<float> parameters = {0.5f, -1.0f, 0.1f, 0.2f, 2.0f, 3.0f, 0.25f};
  Policy policy({.observations = 1, .hidden = 2, .actions = 1}, parameters);
  const float x = 0.7f;
  const double expected =
    2.0 * std::tanh(0.5 * 0.7 + 0.1) + 3.0 * std::tanh(-0.7 + 0.2) + 0.25;
  EXPECT_NEAR(policy.act({&x, 1})[0], expected, 1e-6);
}

TEST(PolicyTest, without_observations_is_its_biases) {
  const std::vector<float> parameters = {5.0f, -5.0f, 1.5f};
  Policy policy({.observations = 0, .hidden = 0, .actions = 3}, parameters);
  EXPECT_TRUE(std::ranges::equal(policy.act({}), parameters));
  EXPECT_THROW(Policy({.observations = 1, .hidden = 0, .actions = 3}, parameters),
               std::invalid_argument);
}

} // namespace
} // namespace es
