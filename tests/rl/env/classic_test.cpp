// SPDX-License-Identifier: Apache-2.0
// Each classic environment starts where its documentation says, starts the same from the
// same seed, and truncates an episode at its limit of steps, not before.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <gtest/gtest.h>

#include "fiber/rl/acrobot.hpp"
#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/mountain_car_continuous.hpp"
#include "fiber/rl/pendulum.hpp"

namespace fiber::rl {
namespace {

static_assert(Environment<Pendulum>);
static_assert(Environment<Acrobot>);
static_assert(Environment<MountainCarContinuous>);

template <class E>
class ClassicTest : public testing::Test {};

using Classic = testing::Types<CartPole, Pendulum, Acrobot, MountainCarContinuous>;
TYPED_TEST_SUITE(ClassicTest, Classic, );

TYPED_TEST(ClassicTest, the_same_seed_starts_the_same_episode) {
  TypeParam one, same, other;
  one.reset(7);
  same.reset(7);
  other.reset(8);
  EXPECT_EQ(one.state(), same.state());
  EXPECT_NE(one.state(), other.state());
}

TYPED_TEST(ClassicTest, truncates_at_the_limit_again_in_each_episode) {
  TypeParam environment;
  for (std::uint64_t episode = 0; episode < 2; ++episode) {
    environment.reset(episode);
    const auto start = environment.state();
    for (int step = 1; step < TypeParam::step_limit; ++step) {
      const auto result = environment.step({});
      ASSERT_FALSE(result.truncated) << "step " << step;
      if (result.terminated)
        environment.set_state(start);
    }
    EXPECT_TRUE(environment.step({}).truncated);
  }
}

TEST(ClassicResetTest, starts_are_spread_over_their_ranges) {
  double lowest = 9, highest = -9, farthest_left = 9, farthest_right = -9;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Pendulum pendulum;
    pendulum.reset(seed);
    ASSERT_LE(std::abs(pendulum.state()[0]), std::numbers::pi);
    ASSERT_LE(std::abs(pendulum.state()[1]), 1);
    lowest = std::min(lowest, pendulum.state()[0]);
    highest = std::max(highest, pendulum.state()[0]);

    MountainCarContinuous car;
    car.reset(seed);
    ASSERT_EQ(car.state()[1], 0);
    farthest_left = std::min<double>(farthest_left, car.state()[0]);
    farthest_right = std::max<double>(farthest_right, car.state()[0]);

    Acrobot acrobot;
    acrobot.reset(seed);
    for (auto value : acrobot.state())
      ASSERT_LE(std::abs(value), 0.1001);
  }
  EXPECT_LT(lowest, -2.8);
  EXPECT_GT(highest, 2.8);
  EXPECT_NEAR(farthest_left, -0.6, 0.01);
  EXPECT_NEAR(farthest_right, -0.4, 0.01);
}

} // namespace
} // namespace fiber::rl
