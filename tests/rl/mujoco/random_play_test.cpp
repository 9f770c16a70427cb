// SPDX-License-Identifier: Apache-2.0
// Returns and lengths of random play have the same distribution as in Gymnasium.
// record_mujoco.py made the recordings.

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/random.hpp"
#include "tests/rl/env/recording.hpp"

namespace fiber::rl {
namespace {

/// Plays as many episodes at random as were recorded, each of at most 200 steps.
recording::Episodes play_at_random(const std::string& name, std::size_t episodes) {
  constexpr int longest = 200;
  recording::Episodes played;
  const auto robot = make_environment(name);
  const auto spaces = robot->spaces();
  std::vector<float> action(spaces.action_size());
  Random random(3);
  for (std::size_t episode = 0; episode < episodes; ++episode) {
    robot->reset(episode);
    double total = 0;
    int length = 0;
    for (bool over = false; !over && length < longest; ++length) {
      for (std::size_t i = 0; i < action.size(); ++i)
        action[i] =
          static_cast<float>(random.uniform(spaces.action_low[i], spaces.action_high[i]));
      const auto result = robot->step(action);
      total += result.reward;
      over = result.terminated || result.truncated;
    }
    played.returns.push_back(total);
    played.lengths.push_back(length);
  }
  return played;
}

class MujocoRandomPlayTest : public testing::TestWithParam<const char*> {};

TEST_P(MujocoRandomPlayTest, has_gymnasiums_returns_and_lengths) {
  const auto recorded = recording::episodes(GetParam());
  ASSERT_EQ(recorded.returns.size(), 300u);
  const auto played = play_at_random(GetParam(), recorded.returns.size());
  EXPECT_LT(recording::difference(played.returns, recorded.returns), 1);
  EXPECT_LT(recording::difference(played.lengths, recorded.lengths), 1);
}

INSTANTIATE_TEST_SUITE_P(, MujocoRandomPlayTest,
                         testing::Values("inverted_pendulum", "inverted_double_pendulum",
                                         "reacher", "swimmer", "hopper", "half_cheetah",
                                         "walker2d", "ant", "humanoid"),
                         [](const auto& tested) { return std::string(tested.param); });

} // namespace
} // namespace fiber::rl
