// SPDX-License-Identifier: Apache-2.0
// An episode of evolution strategies that goes wrong names itself, so that it can be
// played again.

#include <limits>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "fiber/rl/evolution_evaluation.hpp"

namespace fiber::rl {
namespace {

struct Endless {
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 2;

  void reset(std::uint64_t) { steps = 0; }
  Step step(int) {
    ++steps;
    return {.reward =
              steps == reward_breaks ? std::numeric_limits<double>::infinity() : 0};
  }
  void observe(std::span<float> out) const {
    out[0] = 0;
    out[1] = steps == observation_breaks ? std::numeric_limits<float>::infinity() : 0;
  }

  int reward_breaks = 0, observation_breaks = 0; ///< The step; -1: never.
  int steps = 0;
};

template <class Error>
std::string said_of(const Endless& endless) {
  const auto spec = evolved_policy(spaces_of(endless), {});
  EvolvedPolicy policy(spec, std::vector<float>(evolved_parameter_count(spec)), {});
  try {
    rollout(*erase<Endless>(endless), policy, 77);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(RolloutTest, names_what_is_not_finite) {
  EXPECT_EQ(said_of<std::domain_error>({.reward_breaks = 5, .observation_breaks = -1}),
            "step 5 of the episode with seed 77: the reward is inf");
  EXPECT_EQ(said_of<std::domain_error>({.reward_breaks = -1, .observation_breaks = 5}),
            "step 5 of the episode with seed 77: number 1 of the observation is inf");
  EXPECT_EQ(said_of<std::domain_error>({.observation_breaks = 0}),
            "step 0 of the episode with seed 77: number 1 of the observation is inf");
}

TEST(RolloutTest, ends_an_episode_that_does_not_end) {
  EXPECT_EQ(said_of<std::runtime_error>({.reward_breaks = -1, .observation_breaks = -1}),
            "the episode with seed 77 has not ended after 100000 steps: set `truncated` "
            "at a step limit");
}

} // namespace
} // namespace fiber::rl
