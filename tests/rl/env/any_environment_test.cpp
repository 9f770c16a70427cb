// SPDX-License-Identifier: Apache-2.0
// An environment without its type takes an action that there is, and names another one.

#include <array>
#include <stdexcept>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/pendulum.hpp"

namespace fiber::rl {
namespace {

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

TEST(AnyEnvironmentTest, names_the_size_of_an_action_of_another_size) {
  auto pendulum = erase<Pendulum>();
  pendulum->reset(1);
  const std::array<float, 2> action = {};
  try {
    pendulum->step(action);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "an action has 1 numbers, not 2");
  }
}

TEST(AnyEnvironmentTest, acts_as_the_environment_in_it) {
  auto erased = erase<Pendulum>();
  Pendulum plain;
  erased->reset(3);
  plain.reset(3);
  const std::array<float, 1> action = {1.5f};
  EXPECT_EQ(erased->step(action).reward, plain.step(action).reward);
  std::array<float, 3> seen = {}, expected = {};
  erased->observe(seen);
  plain.observe(expected);
  EXPECT_EQ(seen, expected);
}

} // namespace
} // namespace fiber::rl
