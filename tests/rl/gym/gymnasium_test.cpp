// SPDX-License-Identifier: Apache-2.0
// The real Gymnasium, in the virtual environment FIBER_RL_VENV: its CartPole and ours are
// the same, step by step.
#include <array>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/gym.hpp"

namespace fiber::rl {
namespace {

class GymnasiumTest : public testing::Test {
protected:
  static void SetUpTestSuite() { setenv("FIBER_RL_VENV", FIBER_RL_VENV, 1); }
};

TEST_F(GymnasiumTest, its_cartpole_and_ours_are_the_same_step_by_step) {
  GymEnv<int> theirs("CartPole-v1");
  CartPole ours;
  ASSERT_EQ(theirs.spaces(), spaces_of(ours));
  int steps = 0;
  for (std::uint64_t episode = 0; episode < 20; ++episode) {
    theirs.reset(episode);
    std::array<float, 4> seen{}, expected{};
    theirs.observe(seen);
    ours.reset(0);
    for (bool over = false; !over; ++steps) {
      ours.set_state({seen[0], seen[1], seen[2], seen[3]}); // Rounded to float.
      const int action = seen[2] + seen[3] > 0 ? 1 : 0;
      const auto their_step = theirs.step(action);
      const auto our_step = ours.step(action);
      theirs.observe(seen);
      ours.observe(expected);
      for (std::size_t i = 0; i < seen.size(); ++i)
        ASSERT_NEAR(seen[i], expected[i], 1e-6) << "step " << steps;
      over = their_step.terminated || their_step.truncated;
      ASSERT_EQ(their_step.reward, our_step.reward);
      ASSERT_EQ(over, our_step.terminated || our_step.truncated) << "step " << steps;
    }
  }
  EXPECT_GT(steps, 20 * 100);
}

TEST_F(GymnasiumTest, the_same_seed_and_actions_give_the_same_episode) {
  AnyGymEnv first("Pendulum-v1"), second("Pendulum-v1");
  ASSERT_EQ(first.spaces().action_low, std::vector<float>{-2});
  first.reset(1'234'567'890'123);
  second.reset(1'234'567'890'123);
  std::array<float, 3> one{}, other{};
  for (int step = 1; step <= 200; ++step) {
    const float action = std::sin(static_cast<float>(step));
    const auto of_first = first.step({&action, 1});
    const auto of_second = second.step({&action, 1});
    first.observe(one);
    second.observe(other);
    ASSERT_EQ(one, other);
    ASSERT_EQ(of_first.reward, of_second.reward);
    ASSERT_EQ(of_first.truncated, step == 200);
  }
}

/// Its MuJoCo is another version than the one that this program is linked with.
TEST_F(GymnasiumTest, its_robots_have_their_own_mujoco) {
  AnyGymEnv hopper("Hopper-v5");
  hopper.reset(1);
  const std::array<float, 3> action = {0.1F, -0.2F, 0.3F};
  double total = 0;
  for (int step = 0; step < 20; ++step)
    total += hopper.step(action).reward;
  EXPECT_TRUE(std::isfinite(total));
  EXPECT_GT(total, 10); // It is rewarded with 1 for each step that it stands.
}

} // namespace
} // namespace fiber::rl
