// SPDX-License-Identifier: Apache-2.0
// The promise: the state of a VecEnv brings another one, over any number of jobs, to the
// same place; what follows is the same to the last bit.

#include <sstream>

#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

class VecEnvStates : public e2e::SessionTest {};

std::vector<double> step_from(AnyVecEnv& envs, std::uint64_t first, std::uint64_t end) {
  std::vector<double> seen;
  for (auto step = first; step < end; ++step) {
    const auto rows = contents(envs.step(random_actions(envs.size(), 2, step)));
    seen.insert(seen.end(), rows.begin(), rows.end());
  }
  return seen;
}

/// As if it had been written to a file and read.
VecEnvState stored(const VecEnvState& state) {
  std::stringstream file;
  boost::archive::text_oarchive(file) << state;
  VecEnvState read;
  boost::archive::text_iarchive(file) >> read;
  return read;
}

TEST_F(VecEnvStates, bring_another_one_to_the_same_place) {
  open();
  for (const auto autoreset : {Autoreset::same_step, Autoreset::next_step}) {
    VecEnvOptions options{.envs = 6, .autoreset = autoreset, .seed = 9};
    auto first = vec_env<CartPole>(options, Way::here);
    first.reset();
    step_from(first, 0, 90);
    const auto state = stored(first.state());
    EXPECT_EQ(state, first.state());
    const auto on = step_from(first, 90, 180);
    options.jobs = 2;
    options.seed = 1234; // The state's own goes on.
    for (const auto way : {Way::here, Way::shared_memory, Way::messages}) {
      auto second = vec_env<CartPole>(options, way);
      second.reset();
      step_from(second, 7, 30); // What it did before does not matter.
      const auto& rows = second.restore(state);
      EXPECT_EQ(rows.size(), 6U);
      EXPECT_EQ(second.state(), state);
      EXPECT_EQ(step_from(second, 90, 180), on);
    }
  }
}

TEST_F(VecEnvStates, show_where_environments_are) {
  auto envs = vec_env<Puppet>({.envs = 2}, Way::here);
  const auto empty = envs.state();
  envs.reset();
  envs.step(std::vector<float>{Puppet::go_on, Puppet::terminate});
  const auto state = envs.state();
  EXPECT_EQ(state.envs[0].episodes, 1U);
  EXPECT_EQ(state.envs[0].actions, (std::vector<float>{Puppet::go_on}));
  EXPECT_EQ(state.envs[1].episodes, 2U);
  EXPECT_TRUE(state.envs[1].actions.empty());
  const auto& rows = envs.restore(state);
  EXPECT_EQ(rows.observation(0)[0], 1);
  EXPECT_EQ(rows.episode_return(0), 0.5);
  EXPECT_EQ(rows.rewards[0], 0);
  EXPECT_FALSE(rows.done(1));
  envs.restore(empty); // Before the first reset.
  EXPECT_THROW(envs.step(std::vector<float>(2)), std::logic_error);
  EXPECT_EQ(envs.reset().observation(0)[1], shown_seed(0, 0, 0));
}

TEST_F(VecEnvStates, are_refused_where_they_do_not_fit) {
  auto envs = vec_env<Puppet>({.envs = 2}, Way::here);
  envs.reset();
  auto other = vec_env<Puppet>({.envs = 3}, Way::here).state();
  EXPECT_THROW(envs.restore(other), std::invalid_argument);
  auto done = envs.state();
  done.envs[1].done = true;
  EXPECT_THROW(envs.restore(done), std::invalid_argument);
  EXPECT_EQ(envs.step(std::vector<float>(2)).episode_length(0), 1);
}

/// Not what its concept asks for: an episode depends on how many came before.
class Moody {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  void reset(std::uint64_t) {
    ++episodes_;
    steps_ = 0;
  }
  Step step(Action) { return {.terminated = ++steps_ == 3 - episodes_}; }
  void observe(std::span<float> out) const { out[0] = 0; }

private:
  int episodes_ = 0, steps_ = 0;
};

TEST_F(VecEnvStates, need_environments_that_can_be_repeated) {
  auto envs = vec_env<Moody>({.envs = 1}, Way::here);
  envs.reset();
  envs.step(std::vector<float>(1));
  try {
    envs.restore(envs.state());
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what())
                .find("environment 0 failed: can't be brought "
                      "back"),
              std::string::npos);
  }
}

} // namespace
} // namespace fiber::rl::tests
