// SPDX-License-Identifier: Apache-2.0
// The promise: a job that is killed is replaced. Its environments come back with rows
// that are marked, or with `replay` as if nothing had happened. No row comes twice, none
// is missing, and nobody waits for ever.

#include <csignal>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fiber/error.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

using Floats = std::vector<float>;

class VecEnvLoss : public e2e::SessionTest {
protected:
  /// Kills a job, and waits until it is gone.
  static void kill(pid_t pid) {
    ::kill(pid, SIGKILL);
    EXPECT_TRUE(e2e::wait_until([pid] { return !e2e::lives(pid); }));
  }
};

TEST_F(VecEnvLoss, marks_the_rows_of_a_job_that_died_in_a_step) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Puppet>({.envs = 4, .jobs = 2, .seed = 8}, way);
    envs.reset();
    envs.step(Floats(4));
    const auto* batch = &envs.step(Floats{0, 0, Puppet::die, 0});
    ASSERT_EQ(batch->size(), 4U);
    for (const std::size_t i : {0, 1}) {
      EXPECT_EQ(batch->valid[i], 1);
      EXPECT_EQ(batch->episode_length(i), 2);
    }
    for (const std::size_t i : {2, 3}) {
      EXPECT_EQ(batch->valid[i], 0);
      EXPECT_EQ(batch->truncated[i], 1);
      EXPECT_EQ(batch->terminated[i], 0);
      EXPECT_EQ(batch->rewards[i], 0);
      EXPECT_EQ(batch->observation(i)[0], 0);
      EXPECT_EQ(batch->observation(i)[1], shown_seed(8, i, 1));
      EXPECT_EQ(batch->final_observation(i)[0], 0);
    }
    EXPECT_EQ(envs.jobs_lost(), 1U);
    batch = &envs.step(Floats(4));
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(batch->valid[i], 1);
    EXPECT_EQ(batch->episode_length(0), 3);
    EXPECT_EQ(batch->episode_length(2), 1);
  }
}

TEST_F(VecEnvLoss, marks_the_rows_of_a_job_that_died_between_steps) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Puppet>({.envs = 4, .jobs = 2, .seed = 8}, way);
    kill(static_cast<pid_t>(envs.reset().observation(3)[2]));
    const auto* batch = &envs.step(Floats(4));
    EXPECT_EQ(batch->valid[1], 1);
    EXPECT_EQ(batch->valid[2], 0);
    EXPECT_EQ(batch->valid[3], 0);
    const auto pid = static_cast<pid_t>(batch->observation(3)[2]);
    batch = &envs.step(Floats(4));
    EXPECT_EQ(batch->valid[3], 1);
    kill(pid);
    batch = &envs.reset(); // An explicit reset loses nothing.
    EXPECT_EQ(batch->valid[3], 1);
    EXPECT_EQ(batch->truncated[3], 0);
  }
}

TEST_F(VecEnvLoss, counts_as_an_end_of_the_episode_in_each_mode) {
  open();
  for (const auto way : job_ways) {
    auto next =
      vec_env<Puppet>({.envs = 1, .jobs = 1, .autoreset = Autoreset::next_step}, way);
    next.reset();
    EXPECT_EQ(next.step(Floats{Puppet::die}).valid[0], 0);
    EXPECT_EQ(next.step(Floats{Puppet::fail}).episode_length(0), 0);
    EXPECT_EQ(next.step(Floats(1)).episode_length(0), 1);
    auto disabled =
      vec_env<Puppet>({.envs = 1, .jobs = 1, .autoreset = Autoreset::disabled}, way);
    disabled.reset();
    EXPECT_EQ(disabled.step(Floats{Puppet::die}).valid[0], 0);
    EXPECT_THROW(disabled.step(Floats(1)), std::logic_error);
    disabled.reset();
    EXPECT_EQ(disabled.step(Floats(1)).valid[0], 1);
  }
}

TEST_F(VecEnvLoss, leaves_no_difference_with_replay) {
  open();
  for (const auto autoreset : {Autoreset::same_step, Autoreset::next_step}) {
    VecEnvOptions options{.envs = 6, .autoreset = autoreset, .seed = 2, .replay = true};
    auto here = vec_env<CartPole>(options, Way::here);
    auto undisturbed = contents(here.reset());
    options.jobs = 3;
    for (const auto way : job_ways) {
      auto envs = vec_env<CartPole>(options, way);
      EXPECT_EQ(contents(envs.reset()), undisturbed);
    }
    std::vector<std::vector<double>> rows;
    for (std::uint64_t step = 0; step < 100; ++step)
      rows.push_back(contents(here.step(random_actions(6, 2, step))));
    for (const auto way : job_ways) {
      auto envs = vec_env<CartPole>(options, way);
      envs.reset();
      for (std::uint64_t step = 0; step < 100; ++step) {
        if (step % 20 == 5)
          ::kill(await_jobs(3).at(step / 20 % 3), SIGKILL);
        ASSERT_EQ(contents(envs.step(random_actions(6, 2, step))), rows[step]) << step;
      }
      EXPECT_GE(envs.jobs_lost(), 4U); // A kill at the end may not be known yet.
    }
  }
}

TEST_F(VecEnvLoss, gives_each_order_one_row) {
  open();
  for (const auto way : job_ways) {
    for (const bool replay : {false, true}) {
      auto envs =
        vec_env<CartPole>({.envs = 8, .batch = 3, .jobs = 3, .replay = replay}, way);
      envs.reset();
      std::vector<int> ids = {0, 1, 2, 3, 4, 5, 6, 7};
      envs.send(Floats(8), ids);
      std::set<int> flying(ids.begin(), ids.end());
      std::size_t lost = 0;
      for (int round = 0; round < 200; ++round) {
        if (round % 25 == 10)
          ::kill(await_jobs(3).at(static_cast<std::size_t>(round) % 3), SIGKILL);
        const auto& batch = envs.recv();
        ids.assign(batch.env_ids.begin(), batch.env_ids.end());
        for (std::size_t i = 0; i < batch.size(); ++i) {
          EXPECT_EQ(flying.erase(ids[i]), 1U);
          lost += batch.valid[i] == 0;
          EXPECT_TRUE(batch.valid[i] == 1 || batch.truncated[i] == 1);
        }
        envs.send(Floats(ids.size()), ids);
        flying.insert(ids.begin(), ids.end());
      }
      while (envs.in_flight() > 0)
        for (const int id : envs.recv().env_ids)
          EXPECT_EQ(flying.erase(id), 1U);
      EXPECT_TRUE(flying.empty());
      EXPECT_EQ(lost > 0, !replay) << lost;
    }
  }
}

TEST_F(VecEnvLoss, is_what_becomes_of_a_job_that_does_not_move) {
  using namespace std::chrono_literals;
  open({.heartbeat_timeout = 1s, .lease = 4s});
  for (const auto way : job_ways) {
    auto envs = vec_env<Puppet>({.envs = 2, .jobs = 2}, way);
    const auto pid = static_cast<pid_t>(envs.reset().observation(1)[2]);
    ::kill(pid, SIGSTOP);
    ASSERT_TRUE(e2e::wait_until([pid] { return e2e::is_stopped(pid); }));
    const auto& batch = envs.step(Floats(2));
    EXPECT_EQ(batch.valid[0], 1);
    EXPECT_EQ(batch.valid[1], 0);
    EXPECT_EQ(envs.step(Floats(2)).valid[1], 1);
  }
}

TEST_F(VecEnvLoss, of_all_jobs_with_the_session_is_told) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Puppet>({.envs = 2, .jobs = 2}, way);
    envs.reset();
    close();
    EXPECT_THROW(envs.step(Floats(2)), Closed);
    open();
  }
}

TEST_F(VecEnvLoss, at_each_try_of_a_step_gives_the_episode_up_if_errors_do) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Puppet>(
      {.envs = 4, .jobs = 2, .seed = 8, .replay = true, .on_error = OnError::new_episode},
      way);
    envs.reset();
    envs.step(Floats(4));
    const auto* batch = &envs.step(Floats{0, 0, Puppet::die, 0});
    EXPECT_EQ(envs.jobs_lost(), 3U);
    for (const std::size_t i : {0, 1}) {
      EXPECT_EQ(batch->valid[i], 1);
      EXPECT_EQ(batch->episode_length(i), 2);
    }
    for (const std::size_t i : {2, 3}) {
      EXPECT_EQ(batch->valid[i], 0);
      EXPECT_EQ(batch->truncated[i], 1);
      EXPECT_EQ(batch->observation(i)[1], shown_seed(8, i, 1));
    }
    batch = &envs.step(Floats(4));
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(batch->valid[i], 1);
  }
}

/// Kills its process at the start of one episode.
class Doomed : public Puppet {
public:
  void reset(std::uint64_t seed) {
    if (seed == episode_seed(8, 0, 1))
      ::kill(::getpid(), SIGKILL);
    Puppet::reset(seed);
  }
};

TEST_F(VecEnvLoss, at_each_try_of_a_reset_leads_to_another_seed_if_errors_do) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Doomed>(
      {.envs = 1, .jobs = 1, .seed = 8, .replay = true, .on_error = OnError::new_episode},
      way);
    envs.reset();
    const auto* batch = &envs.step(Floats{Puppet::terminate});
    EXPECT_EQ(batch->valid[0], 0);
    EXPECT_EQ(batch->observation(0)[1], shown_seed(8, 0, 2));
    EXPECT_EQ(envs.jobs_lost(), 4U);
    EXPECT_EQ(envs.step(Floats{0}).valid[0], 1);
  }
}

TEST_F(VecEnvLoss, again_and_again_is_an_error_with_the_reason) {
  open();
  for (const auto way : job_ways) {
    for (const bool replay : {false, true}) {
      auto envs = vec_env<Puppet>(
        {.envs = 2, .jobs = 2, .replay = replay, .on_error = OnError::new_episode}, way);
      envs.reset();
      std::string text;
      try {
        for (int step = 0; step < 50; ++step)
          envs.step(Floats{Puppet::go_on, Puppet::die});
      } catch (const Error& error) {
        text = error.what();
      }
      EXPECT_NE(text.find("environment 1"), std::string::npos) << text;
      EXPECT_NE(text.find("SIGKILL"), std::string::npos) << text;
      EXPECT_THROW(envs.reset(), Error); // It can't be used any more.
    }
  }
}

} // namespace
} // namespace fiber::rl::tests
