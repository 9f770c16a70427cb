// SPDX-License-Identifier: Apache-2.0
// The search climbs, and what it computes follows from the seed and the returns alone.

#include "fiber/rl/evolution.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

TEST(NoiseTableTest, has_the_moments_of_the_normal_distribution) {
  const auto table = make_noise_table(1 << 18, 5);
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (double value : table) {
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  const auto size = static_cast<double>(table.size());
  EXPECT_NEAR(sum / size, 0.0, 0.01);
  EXPECT_NEAR(squares / size, 1.0, 0.02);
  EXPECT_NEAR(fourth / size, 3.0, 0.1);
}

TEST(CentredRanksTest, lie_between_minus_and_plus_a_half_in_the_order_of_the_values) {
  const std::vector<double> values = {30, -5, 1e9, 7, 8};
  EXPECT_EQ(centred_ranks(values), (std::vector<double>{0.25, -0.5, 0.5, -0.25, 0.0}));
}

TEST(CentredRanksTest, equal_values_share_the_mean_of_their_ranks) {
  const std::vector<double> values = {2, 1, 2, 2, 3};
  EXPECT_EQ(centred_ranks(values), (std::vector<double>{0, -0.5, 0, 0, 0.5}));
  const std::vector<double> equal = {4, 4, 4};
  EXPECT_EQ(centred_ranks(equal), (std::vector<double>{0, 0, 0}));
  const std::vector<double> one = {4};
  EXPECT_EQ(centred_ranks(one), std::vector<double>{0});
}

TEST(PerturbedTest, adds_the_noise_at_an_offset_and_refuses_one_past_the_end) {
  const std::vector<float> noise = {1, 2, 3, 4};
  const std::vector<float> parameters = {10, 20};
  EXPECT_EQ(perturbed(parameters, noise, 2, 0.5f), (std::vector<float>{11.5f, 22.0f}));
  EXPECT_EQ(perturbed(parameters, noise, 2, -0.5f), (std::vector<float>{8.5f, 18.0f}));
  EXPECT_THROW(perturbed(parameters, noise, 3, 1.0f), std::out_of_range);
  EXPECT_THROW(perturbed(parameters, noise, ~std::uint64_t{0}, 1.0f), std::out_of_range);
}

// Returns of a hill whose top is at `top`.
std::vector<MirroredReturns> climb(const Evolution& evolution,
                                   std::span<const float> noise,
                                   const std::vector<float>& top) {
  auto height = [&](std::uint64_t offset, float step) {
    const auto place = perturbed(evolution.parameters(), noise, offset, step);
    double distance = 0;
    for (std::size_t i = 0; i < top.size(); ++i)
      distance +=
        std::pow(static_cast<double>(place[i]) - static_cast<double>(top[i]), 2);
    return -distance;
  };
  std::vector<MirroredReturns> returns;
  const auto sigma = evolution.options().sigma;
  for (auto offset : evolution.ask())
    returns.push_back({.plus = height(offset, sigma), .minus = height(offset, -sigma)});
  return returns;
}

struct EvolutionTest : testing::Test {
  std::vector<float> noise = make_noise_table(1 << 14, 3);
  std::vector<float> top = {0.5f, -1.0f, 2.0f, 0.0f};
  EvolutionOptions options = {.directions = 16, .sigma = 0.1f, .learning_rate = 0.05};
  Evolution evolution{std::vector<float>(4), noise, 3, options};

  double distance(std::span<const float> place) const {
    double most = 0;
    for (std::size_t i = 0; i < top.size(); ++i)
      most = std::max<double>(most, std::abs(place[i] - top[i]));
    return most;
  }
};

TEST_F(EvolutionTest, climbs_to_the_top_of_a_hill) {
  for (int i = 0; i < 200; ++i)
    evolution.tell(climb(evolution, noise, top));
  EXPECT_LT(distance(evolution.parameters()), 0.1);
}

TEST_F(EvolutionTest, weight_decay_draws_the_parameters_towards_0) {
  options.weight_decay = 10;
  Evolution decaying(std::vector<float>(4), noise, 3, options);
  for (int i = 0; i < 200; ++i) {
    evolution.tell(climb(evolution, noise, top));
    decaying.tell(climb(decaying, noise, top));
  }
  EXPECT_LT(decaying.parameters()[2], evolution.parameters()[2] - 0.5f);
}

TEST_F(EvolutionTest, equal_returns_everywhere_move_nothing) {
  evolution.tell(std::vector<MirroredReturns>(16, {.plus = 500, .minus = 500}));
  for (float parameter : evolution.parameters())
    EXPECT_EQ(parameter, 0.0f);
}

TEST_F(EvolutionTest, asks_for_the_same_until_told_and_then_for_other_directions) {
  const auto first = evolution.ask();
  EXPECT_EQ(evolution.ask(), first);
  evolution.tell(climb(evolution, noise, top));
  EXPECT_NE(evolution.ask(), first);
}

TEST_F(EvolutionTest, goes_on_from_a_saved_state_as_if_it_had_never_stopped) {
  for (int i = 0; i < 5; ++i)
    evolution.tell(climb(evolution, noise, top));
  Evolution resumed(evolution.state(), noise, 3, options);
  for (int i = 0; i < 5; ++i) {
    evolution.tell(climb(evolution, noise, top));
    resumed.tell(climb(resumed, noise, top));
  }
  EXPECT_EQ(resumed.state().parameters, evolution.state().parameters);
  EXPECT_EQ(resumed.state().moment1, evolution.state().moment1);
  EXPECT_EQ(resumed.state().moment2, evolution.state().moment2);
  EXPECT_EQ(resumed.iteration(), 10u);
}

TEST_F(EvolutionTest, refuses_what_makes_no_sense_and_lives_on) {
  EXPECT_THROW(evolution.tell({}), std::invalid_argument);
  auto returns = climb(evolution, noise, top);
  returns[7].minus = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(evolution.tell(returns), std::invalid_argument);
  EXPECT_EQ(evolution.iteration(), 0u);
  evolution.tell(climb(evolution, noise, top));
  EXPECT_EQ(evolution.iteration(), 1u);

  EXPECT_THROW(Evolution(std::vector<float>(4), std::span(noise).first(3), 1),
               std::invalid_argument);
  EXPECT_THROW(Evolution(std::vector<float>{}, noise, 1), std::invalid_argument);
  options.sigma = 0;
  EXPECT_THROW(Evolution(std::vector<float>(4), noise, 1, options),
               std::invalid_argument);
}

} // namespace
} // namespace fiber::rl
