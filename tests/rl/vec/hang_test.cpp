// SPDX-License-Identifier: Apache-2.0
// The promise: an environment that hangs has its job replaced, and costs no more than
// that. Only its own episode may be given up; the log and the error name the environment.

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fiber/error.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

using namespace std::chrono_literals;

class VecEnvHangs : public e2e::SessionTest {};

constexpr auto timeout = 500ms;
constexpr std::uint64_t base_seed = 8;
constexpr std::uint64_t bad_seed = 9; ///< Environment 1 can't begin its second episode.

[[noreturn]] void hang() {
  for (;;)
    ::pause();
}

/// A Puppet that also hangs where its action says.
class Sleeper : public Puppet {
public:
  enum : int {
    hang_once = Puppet::actions,
    hang_always,
    hang_again,
    take_a_while,
    end_of_actions
  };

  static constexpr int actions = end_of_actions;

  void reset(std::uint64_t seed) {
    if (seed == episode_seed(bad_seed, 1, 1))
      hang();
    Puppet::reset(seed);
  }
  Step step(Action action) {
    if (action == hang_always || (action == hang_once && e2e::note("once", "") == 1) ||
        (action == hang_again && e2e::note("again", "") > 1))
      hang();
    if (action == take_a_while)
      std::this_thread::sleep_for(timeout / 3);
    return Puppet::step(action);
  }
};

/// Can't begin an episode.
class NeverReady {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  void reset(std::uint64_t) { hang(); }
  Step step(Action) { return {}; }
  void observe(std::span<float> out) const { out[0] = 0; }
};

using Floats = std::vector<float>;

VecEnvOptions four_in_two(bool replay) {
  return {
    .envs = 4, .jobs = 2, .seed = base_seed, .replay = replay, .step_timeout = timeout};
}

TEST_F(VecEnvHangs, mark_the_rows_of_their_job) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Sleeper>(four_in_two(false), way);
    envs.reset();
    const auto* batch = &envs.step(Floats{0, 0, Sleeper::hang_always, 0});
    for (const std::size_t i : {0, 1}) {
      EXPECT_EQ(batch->valid[i], 1);
      EXPECT_EQ(batch->episode_length(i), 1);
    }
    for (const std::size_t i : {2, 3}) {
      EXPECT_EQ(batch->valid[i], 0);
      EXPECT_EQ(batch->truncated[i], 1);
      EXPECT_EQ(batch->observation(i)[1], shown_seed(base_seed, i, 1));
    }
    EXPECT_EQ(envs.hangs(), 1U);
    EXPECT_EQ(envs.jobs_lost(), 1U);
    batch = &envs.step(Floats(4));
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(batch->valid[i], 1);
    const float hangs = Sleeper::hang_always;
    batch = &envs.step(Floats{hangs, 0, hangs, 0}); // Two jobs at once.
    EXPECT_EQ(envs.hangs(), 3U);
    EXPECT_EQ(envs.jobs_lost(), 3U);
    EXPECT_EQ(batch->valid[0], 0);
    EXPECT_EQ(batch->valid[2], 0);
  }
}

void expect_no_difference(Way way) {
  auto here = vec_env<Sleeper>({.envs = 4, .seed = base_seed}, Way::here);
  auto envs = vec_env<Sleeper>(four_in_two(true), way);
  here.reset();
  envs.reset();
  here.step(Floats(4));
  envs.step(Floats(4));
  const auto& expected = here.step(Floats(4));
  const auto& batch = envs.step(Floats{0, 0, 0, Sleeper::hang_once});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(batch.valid[i], 1);
    EXPECT_EQ(batch.rewards[i], expected.rewards[i]);
    EXPECT_EQ(batch.episode_return(i), expected.episode_return(i));
    EXPECT_EQ(batch.observation(i)[0], expected.observation(i)[0]);
    EXPECT_EQ(batch.observation(i)[1], expected.observation(i)[1]);
  }
  EXPECT_EQ(envs.hangs(), 1U);
}

TEST_F(VecEnvHangs, leave_no_difference_with_replay) {
  open();
  expect_no_difference(Way::shared_memory);
}

TEST_F(VecEnvHangs, leave_no_difference_with_replay_by_messages) {
  open();
  expect_no_difference(Way::messages);
}

TEST_F(VecEnvHangs, give_up_one_episode_alone_after_three_tries_of_a_step) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Sleeper>(four_in_two(true), way);
    envs.reset();
    envs.step(Floats(4));
    const auto* batch = &envs.step(Floats{0, 0, Sleeper::hang_always, 0});
    EXPECT_EQ(envs.hangs(), 3U);
    EXPECT_EQ(batch->valid[2], 0);
    EXPECT_EQ(batch->observation(2)[1], shown_seed(base_seed, 2, 1));
    EXPECT_EQ(batch->valid[3], 1);
    EXPECT_EQ(batch->episode_length(3), 2);
    batch = &envs.step(Floats(4));
    EXPECT_EQ(batch->valid[2], 1);
    EXPECT_EQ(batch->episode_length(2), 1);
    EXPECT_EQ(batch->episode_length(3), 3);
  }
}

void expect_replay_gives_up(Way way) {
  auto envs = vec_env<Sleeper>(four_in_two(true), way);
  envs.reset();
  const auto* batch = &envs.step(Floats{0, 0, Sleeper::hang_again, 0});
  const auto pid = static_cast<pid_t>(batch->observation(2)[2]);
  ::kill(pid, SIGKILL);
  ASSERT_TRUE(e2e::wait_until([pid] { return !e2e::lives(pid); }));
  batch = &envs.step(Floats(4));
  EXPECT_EQ(envs.hangs(), 3U);
  EXPECT_EQ(batch->valid[2], 0);
  EXPECT_EQ(batch->valid[3], 1);
  EXPECT_EQ(batch->episode_length(3), 2);
}

TEST_F(VecEnvHangs, in_a_replay_give_up_one_episode_alone) {
  open();
  expect_replay_gives_up(Way::shared_memory);
}

TEST_F(VecEnvHangs, in_a_replay_give_up_one_episode_alone_by_messages) {
  open();
  expect_replay_gives_up(Way::messages);
}

TEST_F(VecEnvHangs, in_a_reset_lead_to_another_seed) {
  open();
  for (const auto way : job_ways) {
    for (const bool replay : {false, true}) {
      auto options = four_in_two(replay);
      options.seed = bad_seed;
      auto envs = vec_env<Sleeper>(options, way);
      envs.reset();
      const auto* batch = &envs.step(Floats{0, Sleeper::terminate, 0, 0});
      EXPECT_EQ(envs.hangs(), replay ? 3U : 1U);
      EXPECT_EQ(batch->valid[1], 0);
      EXPECT_EQ(batch->observation(1)[1], shown_seed(bad_seed, 1, 2));
      batch = &envs.step(Floats{0, Sleeper::terminate, 0, 0});
      EXPECT_EQ(batch->valid[1], 1);
      EXPECT_EQ(batch->observation(1)[1], shown_seed(bad_seed, 1, 3));
    }
  }
}

TEST_F(VecEnvHangs, without_end_are_an_error_that_names_the_environment) {
  open();
  for (const auto way : job_ways) {
    auto envs =
      vec_env<NeverReady>({.envs = 1, .jobs = 1, .step_timeout = timeout / 5}, way);
    std::string text;
    try {
      envs.reset();
    } catch (const TimeoutError& error) {
      text = error.what();
    }
    EXPECT_TRUE(text.starts_with("environment 0 hung: its reset() took longer than 100 "
                                 "ms (step_timeout), and job 0 of a VecEnv"))
      << text;
    EXPECT_EQ(envs.hangs(), 6U);
    EXPECT_THROW(envs.reset(), TimeoutError);
  }
}

TEST_F(VecEnvHangs, cost_other_environments_of_the_job_nothing) {
  open();
  for (const auto way : job_ways) {
    auto options = four_in_two(true);
    options.batch = 1;
    options.jobs = 1;
    auto envs = vec_env<Sleeper>(options, way);
    envs.reset();
    const float hangs = Sleeper::hang_always;
    const std::vector<int> ids = {0, 1, 2, 3};
    const Floats actions = {hangs, hangs, 0, 0};
    for (std::size_t i = 0; i < 4; ++i) // Each has a message of its own.
      envs.send(std::span(actions).subspan(i, 1), std::span(ids).subspan(i, 1));
    // The job is lost six times. The last two environments lost it as often.
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& batch = envs.recv();
      EXPECT_EQ(batch.valid[0], batch.env_ids[0] < 2 ? 0 : 1);
    }
    EXPECT_EQ(envs.hangs(), 6U);
  }
}

TEST_F(VecEnvHangs, are_neither_waits_for_orders_nor_many_slow_environments_of_a_job) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Sleeper>({.envs = 6, .jobs = 1, .step_timeout = timeout}, way);
    envs.reset();
    std::this_thread::sleep_for(2 * timeout); // The job waits for orders.
    const auto& batch = envs.step(Floats(6, Sleeper::take_a_while));
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_EQ(batch.valid[i], 1);
    EXPECT_EQ(envs.hangs(), 0U);
  }
}

std::string refusal(const VecEnvOptions& options, Way way) {
  try {
    vec_env<Sleeper>(options, way);
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key(), "step_timeout");
    return error.what();
  }
  return "nothing";
}

TEST_F(VecEnvHangs, need_a_job_that_can_be_ended) {
  EXPECT_NE(refusal({.envs = 2, .step_timeout = timeout}, Way::here).find("jobs >= 1"),
            std::string::npos);
  EXPECT_NE(refusal({.envs = 2, .jobs = 1, .step_timeout = 0ms}, Way::messages)
              .find("1 ms or more"),
            std::string::npos);
  open({.backend = "inline"});
  for (const auto way : job_ways)
    EXPECT_NE(
      refusal({.envs = 2, .jobs = 1, .step_timeout = timeout}, way).find("inline"),
      std::string::npos);
}

} // namespace
} // namespace fiber::rl::tests
