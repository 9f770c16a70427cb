// SPDX-License-Identifier: Apache-2.0
// CartPole is Gymnasium's: the same state and actions lead to the same states. The golden
// numbers were printed by Gymnasium 1.4.0 (numpy float64): set env.unwrapped.state, call
// step() with the actions below, print repr() of the state.

#include "fiber/rl/cartpole.hpp"

#include <array>
#include <stdexcept>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

static_assert(Environment<CartPole>);

constexpr double last_digits = 1e-13; // Two libraries' sines may differ in the last bit.

void expect_near(const CartPole::State& state, const CartPole::State& golden) {
  for (std::size_t i = 0; i < golden.size(); ++i)
    EXPECT_NEAR(state[i], golden[i], last_digits) << "component " << i;
}

TEST(CartPoleTest, follows_gymnasium_until_the_pole_has_fallen) {
  constexpr std::array actions = {1, 0, 1, 1, 0, 0, 1, 0, 1, 1};
  CartPole cartpole;
  cartpole.set_state({0.01, -0.02, 0.03, -0.04});
  for (int step = 1; step <= 21; ++step) {
    const auto result = cartpole.step(actions[static_cast<std::size_t>(step - 1) % 10]);
    EXPECT_EQ(result.reward, 1.0);
    EXPECT_EQ(result.terminated, step == 21) << "step " << step;
    EXPECT_FALSE(result.truncated);
    if (step == 1)
      expect_near(cartpole.state(), {0.009600000000000001, 0.17467919574755525, 0.0292,
                                     -0.3230687179600081});
    if (step == 10)
      expect_near(cartpole.state(), {0.03306434840156223, 0.3687118497547738,
                                     -0.013406089546873787, -0.5915697373761108});
  }
  expect_near(cartpole.state(), {0.1501931559637473, 0.9669321316396152,
                                 -0.21711323088332662, -1.7888964909859655});
  std::array<float, 4> seen = {};
  cartpole.observe(seen);
  EXPECT_EQ(seen[2], -0.21711322665214539f);
}

TEST(CartPoleTest, the_same_seed_starts_the_same_episode) {
  CartPole one, same, other;
  one.reset(7);
  same.reset(7);
  other.reset(8);
  EXPECT_EQ(one.state(), same.state());
  EXPECT_NE(one.state(), other.state());
}

TEST(AnyEnvironmentTest, names_an_action_that_there_is_not) {
  auto cartpole = erase<CartPole>();
  cartpole->reset(1);
  const std::array<float, 1> action = {2};
  try {
    cartpole->step(action);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "no action 2.000000; there are 0 to 1");
  }
}

} // namespace
} // namespace fiber::rl
