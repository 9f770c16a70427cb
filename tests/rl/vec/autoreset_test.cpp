// SPDX-License-Identifier: Apache-2.0
// The promise: what follows the end of an episode is what Gymnasium 1.x does, in each
// mode. Seeds belong to an environment and its episode.

#include <gtest/gtest.h>

#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

constexpr std::uint64_t seed = 11;

AnyVecEnv two_puppets(Autoreset autoreset) {
  return vec_env<Puppet>({.envs = 2, .autoreset = autoreset, .seed = seed}, Way::here);
}

const Batch& step(AnyVecEnv& envs, float first, float second) {
  return envs.step(std::vector<float>{first, second});
}

TEST(VecEnvAutoreset, in_the_same_step_shows_both_episodes) {
  auto envs = two_puppets(Autoreset::same_step);
  const auto* batch = &envs.reset();
  EXPECT_EQ(batch->observation(1)[1], shown_seed(seed, 1, 0));
  batch = &step(envs, Puppet::go_on, Puppet::go_on);
  EXPECT_EQ(batch->episode_return(0), 0.5);
  batch = &step(envs, Puppet::go_on, Puppet::terminate);
  EXPECT_FALSE(batch->done(0));
  EXPECT_EQ(batch->episode_length(0), 2);
  EXPECT_EQ(batch->final_observation(0)[0], batch->observation(0)[0]);
  EXPECT_EQ(batch->terminated[1], 1);
  EXPECT_EQ(batch->truncated[1], 0);
  EXPECT_EQ(batch->valid[1], 1);
  EXPECT_EQ(batch->rewards[1], 1.0);
  EXPECT_EQ(batch->episode_return(1), 1.5);
  EXPECT_EQ(batch->episode_length(1), 2);
  EXPECT_EQ(batch->final_observation(1)[0], 2);
  EXPECT_EQ(batch->final_observation(1)[1], shown_seed(seed, 1, 0));
  EXPECT_EQ(batch->observation(1)[0], 0);
  EXPECT_EQ(batch->observation(1)[1], shown_seed(seed, 1, 1));
  batch = &step(envs, Puppet::go_on, Puppet::truncate);
  EXPECT_EQ(batch->truncated[1], 1);
  EXPECT_EQ(batch->terminated[1], 0);
  EXPECT_EQ(batch->episode_length(0), 3);
  EXPECT_EQ(batch->episode_length(1), 1);
  EXPECT_EQ(batch->observation(1)[1], shown_seed(seed, 1, 2));
}

TEST(VecEnvAutoreset, in_the_next_step_ignores_its_action) {
  auto envs = two_puppets(Autoreset::next_step);
  envs.reset();
  const auto* batch = &step(envs, Puppet::go_on, Puppet::terminate);
  EXPECT_EQ(batch->terminated[1], 1);
  EXPECT_EQ(batch->observation(1)[0], 1);
  EXPECT_EQ(batch->final_observation(1)[0], 1);
  EXPECT_EQ(batch->episode_length(1), 1);
  batch = &step(envs, Puppet::go_on, Puppet::fail);
  EXPECT_FALSE(batch->done(1));
  EXPECT_EQ(batch->rewards[1], 0);
  EXPECT_EQ(batch->observation(1)[0], 0);
  EXPECT_EQ(batch->observation(1)[1], shown_seed(seed, 1, 1));
  EXPECT_EQ(batch->episode_length(1), 0);
  batch = &step(envs, Puppet::go_on, Puppet::go_on);
  EXPECT_EQ(batch->observation(1)[0], 1);
  EXPECT_EQ(batch->episode_length(0), 3);
}

TEST(VecEnvAutoreset, disabled_asks_for_a_reset) {
  auto envs = two_puppets(Autoreset::disabled);
  envs.reset();
  step(envs, Puppet::go_on, Puppet::truncate);
  try {
    step(envs, Puppet::go_on, Puppet::go_on);
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "environment 1 has come to the end of its episode and "
                               "needs reset(ids) before a step, as autoreset is "
                               "disabled");
  }
  const std::vector<int> one = {1};
  const auto* batch = &envs.reset(one);
  ASSERT_EQ(batch->size(), 1U);
  EXPECT_EQ(batch->env_ids[0], 1);
  EXPECT_EQ(batch->observation(0)[1], shown_seed(seed, 1, 1));
  batch = &step(envs, Puppet::go_on, Puppet::go_on);
  EXPECT_EQ(batch->episode_length(0), 2); // The refused step was none.
  EXPECT_EQ(batch->episode_length(1), 1);
}

TEST(VecEnvAutoreset, a_reset_begins_the_next_episode) {
  auto envs = two_puppets(Autoreset::same_step);
  envs.reset();
  step(envs, Puppet::go_on, Puppet::go_on);
  const std::vector<int> ids = {1, 0};
  const auto* batch = &envs.reset(ids);
  EXPECT_EQ(batch->env_ids[0], 1);
  EXPECT_EQ(batch->observation(0)[1], shown_seed(seed, 1, 1));
  EXPECT_EQ(batch->observation(1)[1], shown_seed(seed, 0, 1));
  EXPECT_EQ(batch->rewards[0], 0);
  EXPECT_EQ(batch->valid[0], 1);
  batch = &envs.reset();
  EXPECT_EQ(batch->observation(0)[1], shown_seed(seed, 0, 2));
}

} // namespace
} // namespace fiber::rl::tests
