// SPDX-License-Identifier: Apache-2.0
// The promise: environments that now and then hang, end their process and throw give the
// rows of an undisturbed run, but for the episodes that threw.

#include <chrono>
#include <csignal>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

using namespace std::chrono_literals;

class VecEnvStorm : public e2e::SessionTest {};

/// A CartPole in which some steps fail, counted over all environments and lives.
template <bool throws>
class Stormy {
public:
  using Action = CartPole::Action;
  static constexpr int actions = CartPole::actions;
  static constexpr std::size_t observation_size = CartPole::observation_size;

  void reset(std::uint64_t seed) { environment_.reset(seed); }
  Step step(Action action) {
    const auto number = e2e::note("steps", "");
    if (number % 701 == 0)
      ::kill(::getpid(), SIGKILL);
    if (number % 487 == 0)
      for (;;)
        ::pause();
    if (throws && number % 211 == 0)
      throw std::runtime_error("the storm broke it");
    return environment_.step(action);
  }
  void observe(std::span<float> out) const { environment_.observe(out); }

private:
  CartPole environment_;
};

VecEnvOptions steadfast() {
  return {.envs = 8,
          .jobs = 3,
          .seed = 6,
          .replay = true,
          .step_timeout = 500ms,
          .on_error = OnError::new_episode};
}

constexpr std::uint64_t steps = 250;

void expect_undisturbed(Way way) {
  auto envs = vec_env<Stormy<false>>(steadfast(), way);
  auto plain = vec_env<CartPole>({.envs = 8, .seed = 6}, Way::here);
  EXPECT_EQ(contents(envs.reset()), contents(plain.reset()));
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto actions = random_actions(8, 2, step);
    ASSERT_EQ(contents(envs.step(actions)), contents(plain.step(actions))) << step;
  }
  EXPECT_GE(envs.hangs(), 3U);
  EXPECT_GE(envs.jobs_lost(), 5U);
}

TEST_F(VecEnvStorm, changes_no_row_with_replay) {
  open();
  expect_undisturbed(Way::shared_memory);
}

TEST_F(VecEnvStorm, changes_no_row_with_replay_by_messages) {
  open();
  expect_undisturbed(Way::messages);
}

TEST_F(VecEnvStorm, costs_only_the_episodes_that_threw) {
  open();
  auto envs = vec_env<Stormy<true>>(steadfast(), Way::shared_memory);
  envs.reset();
  std::size_t lost = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto& batch = envs.step(random_actions(8, 2, step));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      lost += batch.valid[i] == 0;
      EXPECT_TRUE(batch.valid[i] == 1 || batch.truncated[i] == 1);
    }
  }
  EXPECT_GE(envs.errors(), 3U);
  EXPECT_EQ(envs.errors(), lost);
}

} // namespace
} // namespace fiber::rl::tests
