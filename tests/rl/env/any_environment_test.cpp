// SPDX-License-Identifier: Apache-2.0
// An environment without its type takes an action that there is, and names another one.

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/pendulum.hpp"
#include "fiber/rl/policy.hpp"
#include "fiber/rl/vec_env.hpp"

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
    EXPECT_STREQ(error.what(), "no action 2; there are 0 to 1");
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

/// Has as many actions as it is told, and pays the number of the action.
struct Choice {
  using Action = int;
  int actions_ = 0;

  Spaces spaces() const { return {.observation_shape = {1}, .actions = actions_}; }
  void reset(std::uint64_t) {}
  Step step(int action) { return {.reward = static_cast<double>(action)}; }
  void observe(std::span<float> out) const { out[0] = 0; }
};

TEST(AnyEnvironmentTest, the_last_of_the_allowed_actions_arrives_exactly) {
  VecEnv<Choice> envs({.envs = 2}, Choice{Spaces::max_actions});
  envs.reset();
  const std::array actions = {Spaces::max_actions - 1, Spaces::max_actions - 2};
  const auto& batch = envs.step(actions);
  EXPECT_EQ(batch.rewards[0], 16'777'215);
  EXPECT_EQ(batch.rewards[1], 16'777'214);
}

TEST(AnyEnvironmentTest, more_actions_than_floats_have_whole_numbers_are_refused) {
  const Choice choice{Spaces::max_actions + 1};
  for (const auto& make : std::vector<std::function<void()>>{
         [&] { erase<Choice>(choice); }, [&] { VecEnv<Choice>({.envs = 1}, choice); },
         [&] { PolicySpec{.spaces = choice.spaces()}.check(); }})
    try {
      make();
      ADD_FAILURE() << "accepted";
    } catch (const std::exception& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("has 16777217 discrete actions; there may be at most 16777216"),
                std::string::npos)
        << text;
    }
}

} // namespace
} // namespace fiber::rl
