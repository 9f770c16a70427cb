// SPDX-License-Identifier: Apache-2.0
// The environments are Gymnasium's: from the same state, the same actions lead to the
// same states. The golden numbers were printed by Gymnasium 1.4.0 (numpy float64): set
// env.unwrapped.state, call step() with the actions below, print repr() of the state.

#include <array>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "es/cartpole.hpp"
#include "es/pendulum.hpp"
#include "es/quadratic.hpp"

namespace es {
namespace {

constexpr double last_digits = 1e-13; // Two libraries' sines may differ in the last bit.

Step push(CartPole& cartpole, bool right) {
  const std::array action = {right ? 1.0f : -1.0f};
  return cartpole.step(action);
}

template <class State>
void expect_near(const State& state, const State& golden, double tolerance) {
  for (std::size_t i = 0; i < golden.size(); ++i)
    EXPECT_NEAR(state[i], golden[i], tolerance) << "component " << i;
}

TEST(CartPoleTest, follows_gymnasium_until_the_pole_has_fallen) {
  constexpr std::array right = {true,  false, true,  true, false,
                                false, true,  false, true, true};
  CartPole cartpole;
  cartpole.set_state({0.01, -0.02, 0.03, -0.04});
  for (int step = 1; step <= 21; ++step) {
    const auto result = push(cartpole, right[static_cast<std::size_t>(step - 1) % 10]);
    EXPECT_EQ(result.reward, 1.0);
    EXPECT_EQ(result.terminated, step == 21) << "step " << step;
    EXPECT_FALSE(result.truncated);
    if (step == 1)
      expect_near(
        cartpole.state(),
        {0.009600000000000001, 0.17467919574755525, 0.0292, -0.3230687179600081},
        last_digits);
    if (step == 10)
      expect_near(cartpole.state(),
                  {0.03306434840156223, 0.3687118497547738, -0.013406089546873787,
                   -0.5915697373761108},
                  last_digits);
  }
  expect_near(
    cartpole.state(),
    {0.1501931559637473, 0.9669321316396152, -0.21711323088332662, -1.7888964909859655},
    last_digits);
  EXPECT_EQ(cartpole.observation()[2], -0.21711322665214539f);
}

TEST(CartPoleTest, ends_when_the_cart_leaves_the_track) {
  CartPole cartpole;
  cartpole.set_state({2.3, 1.5, 0.0, 0.0});
  for (int step = 1; step <= 4; ++step) {
    const auto result = push(cartpole, step % 2 == 0);
    EXPECT_EQ(result.terminated, step == 4) << "step " << step;
  }
  expect_near(
    cartpole.state(),
    {2.412193452777318, 1.4998325995803445, 0.01174413981830531, 0.0036930278904273584},
    last_digits);
}

TEST(CartPoleTest, starts_within_a_twentieth_of_the_middle_and_differently_each_time) {
  CartPole cartpole;
  CartPole::State least = {1, 1, 1, 1};
  CartPole::State most = {-1, -1, -1, -1};
  for (std::uint64_t episode = 0; episode < 1000; ++episode) {
    Random random(7, Use::training_episode, {episode});
    cartpole.reset(random);
    for (std::size_t i = 0; i < 4; ++i) {
      least[i] = std::min(least[i], cartpole.state()[i]);
      most[i] = std::max(most[i], cartpole.state()[i]);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(least[i], -0.05);
    EXPECT_LT(least[i], -0.049);
    EXPECT_LT(most[i], 0.05);
    EXPECT_GT(most[i], 0.049);
  }
}

TEST(CartPoleTest, is_truncated_after_500_steps_and_counts_anew_after_a_reset) {
  CartPole cartpole;
  for (int episode = 0; episode < 2; ++episode) {
    Random random(1, Use::training_episode);
    cartpole.reset(random);
    for (int step = 1; step <= 500; ++step) {
      cartpole.set_state({}); // Held upright.
      const auto result = push(cartpole, true);
      EXPECT_FALSE(result.terminated);
      ASSERT_EQ(result.truncated, step == 500) << "step " << step;
    }
  }
}

TEST(PendulumTest, follows_gymnasium_for_200_steps) {
  Pendulum pendulum;
  pendulum.set_state({3.0, -0.5});
  double total = 0;
  for (int i = 0; i < 200; ++i) {
    const double speed = pendulum.state()[1];
    const double sign = speed > 0 ? 1 : speed < 0 ? -1 : 0;
    const double torque = i % 3 != 0 ? 2.5 * sign : 0.25 * (i % 7); // Clipped at 2.
    const std::array action = {static_cast<float>(torque)};
    const auto result = pendulum.step(action);
    total += result.reward;
    EXPECT_FALSE(result.terminated);
    EXPECT_EQ(result.truncated, i == 199);
    if (i == 0) {
      expect_near(pendulum.state(), {2.980292000302245, -0.3941599939550996},
                  last_digits);
      EXPECT_NEAR(result.reward, -9.025, last_digits);
    }
    if (i == 9) {
      expect_near(pendulum.state(), {2.7915013541659683, 0.008560472064596536},
                  last_digits);
      EXPECT_NEAR(result.reward, -7.800836558149099, 1e-12);
      EXPECT_EQ(pendulum.observation()[0], -0.9393414258956909f);
      EXPECT_EQ(pendulum.observation()[1], 0.34298357367515564f);
    }
  }
  expect_near(pendulum.state(), {53.16789386491473, 8.0}, 1e-9);
  EXPECT_NEAR(total, -1502.698368327024, 1e-8);
}

TEST(PendulumTest, starts_anywhere_on_the_circle_with_speed_below_1) {
  Pendulum pendulum;
  double most_angle = 0;
  double most_speed = 0;
  for (std::uint64_t episode = 0; episode < 1000; ++episode) {
    Random random(7, Use::training_episode, {episode});
    pendulum.reset(random);
    most_angle = std::max(most_angle, std::abs(pendulum.state()[0]));
    most_speed = std::max(most_speed, std::abs(pendulum.state()[1]));
  }
  EXPECT_LE(most_angle, std::numbers::pi);
  EXPECT_GT(most_angle, 0.99 * std::numbers::pi);
  EXPECT_LE(most_speed, 1.0);
  EXPECT_GT(most_speed, 0.99);
}

TEST(QuadraticTest, is_best_at_its_target_and_one_step_long) {
  Quadratic quadratic;
  Random random(1, Use::training_episode);
  quadratic.reset(random);
  const auto best = quadratic.step(Quadratic::target);
  EXPECT_EQ(best.reward, 0.0);
  EXPECT_TRUE(best.terminated);
  const std::array origin = {0.0f, 0.0f, 0.0f};
  EXPECT_EQ(quadratic.step(origin).reward, -(25.0 + 25.0 + 2.25));
}

TEST(EnvironmentTest, an_unknown_name_is_refused_with_the_known_ones) {
  try {
    make_environment("carpole");
    FAIL() << "no exception";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(
      error.what(),
      "no environment \"carpole\"; there are cartpole, pendulum and quadratic");
  }
}

} // namespace
} // namespace es
