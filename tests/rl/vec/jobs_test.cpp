// SPDX-License-Identifier: Apache-2.0
// The promise: between one process and many jobs one line changes, and no row. Jobs of
// this machine write into memory that the driver sees; where they can't, rows come in
// messages. recv() returns rows in the order in which they are ready.

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

class VecEnvJobs : public e2e::SessionTest {};

/// What a run of so many steps shows.
std::vector<double> run(AnyVecEnv& envs, int steps) {
  auto seen = contents(envs.reset());
  for (int step = 0; step < steps; ++step) {
    const auto rows = contents(
      envs.step(random_actions(envs.size(), 2, static_cast<std::uint64_t>(step))));
    seen.insert(seen.end(), rows.begin(), rows.end());
  }
  return seen;
}

/// The same of rows that come two at a time, by environment.
std::vector<std::vector<double>> run_by_twos(AnyVecEnv& envs, std::size_t steps) {
  std::vector<std::vector<double>> seen(envs.size());
  std::vector<std::uint64_t> taken(envs.size());
  auto keep = [&](const Batch& batch) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto& of = seen[static_cast<std::size_t>(batch.env_ids[i])];
      of.insert(of.end(), batch.observation(i).begin(), batch.observation(i).end());
      of.push_back(batch.episode_return(i));
      of.insert(of.end(), batch.final_observation(i).begin(),
                batch.final_observation(i).end());
    }
  };
  auto send = [&](std::vector<int> ids) {
    std::vector<float> actions;
    for (const int id : ids) {
      const auto at = static_cast<std::size_t>(id);
      actions.push_back(random_actions(envs.size(), 2, taken[at]++)[at]);
    }
    envs.send(actions, ids);
  };
  keep(envs.reset());
  std::vector<int> all(envs.size());
  std::iota(all.begin(), all.end(), 0);
  send(all);
  while (envs.in_flight() > 0) {
    // The last environment may have several steps left when the others have none.
    const auto rows = std::min<std::size_t>(2, envs.in_flight());
    const auto& batch = envs.recv();
    EXPECT_EQ(batch.size(), rows);
    keep(batch);
    std::vector<int> on;
    for (const int id : batch.env_ids)
      if (taken[static_cast<std::size_t>(id)] < steps)
        on.push_back(id);
    if (!on.empty())
      send(on);
  }
  return seen;
}

/// The shared memories of VecEnvs that this process has open.
std::size_t memories() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    count += std::filesystem::read_symlink(entry, error).string().find("fiber-vec-env") !=
             std::string::npos;
  }
  return count;
}

TEST_F(VecEnvJobs, give_the_same_rows_for_any_number_of_them) {
  open();
  for (const auto autoreset : {Autoreset::same_step, Autoreset::next_step}) {
    VecEnvOptions options{.envs = 16, .autoreset = autoreset, .seed = 3};
    auto here = vec_env<CartPole>(options, Way::here);
    const auto rows = run(here, 120);
    for (const std::size_t jobs : {1, 2, 16}) {
      options.jobs = jobs;
      auto shared = vec_env<CartPole>(options, Way::shared_memory);
      EXPECT_TRUE(shared.shares_memory());
      EXPECT_EQ(run(shared, 120), rows) << jobs;
    }
    options.jobs = 3;
    auto messages = vec_env<CartPole>(options, Way::messages);
    EXPECT_FALSE(messages.shares_memory());
    EXPECT_EQ(run(messages, 120), rows);
  }
}

TEST_F(VecEnvJobs, give_the_same_rows_inline) {
  open({.backend = "inline"});
  VecEnvOptions options{.envs = 4, .jobs = 2};
  auto here = vec_env<CartPole>(options, Way::here);
  auto inlined = vec_env<CartPole>(options, Way::shared_memory);
  EXPECT_FALSE(inlined.shares_memory());
  EXPECT_EQ(run(inlined, 60), run(here, 60));
}

TEST_F(VecEnvJobs, give_each_environment_the_same_rows_when_some_are_received) {
  open();
  const VecEnvOptions options{.envs = 8, .batch = 2, .jobs = 3, .seed = 5};
  auto here = vec_env<CartPole>(options, Way::here);
  const auto rows = run_by_twos(here, 60);
  auto shared = vec_env<CartPole>(options, Way::shared_memory);
  EXPECT_EQ(run_by_twos(shared, 60), rows);
  auto messages = vec_env<CartPole>(options, Way::messages);
  EXPECT_EQ(run_by_twos(messages, 60), rows);
}

void expect_recv_leaves_out_who_is_slow(Way way) {
  auto envs = vec_env<Puppet>({.envs = 4, .batch = 3, .jobs = 4}, way);
  envs.reset();
  const std::vector<float> actions = {0, Puppet::wait_for_note, 0, 0};
  const std::vector<int> ids = {0, 1, 2, 3};
  envs.send(actions, ids);
  const auto& fast = envs.recv();
  const std::set<int> got(fast.env_ids.begin(), fast.env_ids.end());
  EXPECT_EQ(got, (std::set<int>{0, 2, 3}));
  EXPECT_EQ(envs.in_flight(), 1U);
  e2e::note("go", "");
  const auto& slow = envs.recv();
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow.env_ids[0], 1);
}

TEST_F(VecEnvJobs, let_recv_return_without_those_that_are_slow) {
  open();
  expect_recv_leaves_out_who_is_slow(Way::shared_memory);
}

TEST_F(VecEnvJobs, let_recv_return_without_those_that_are_slow_by_messages) {
  open();
  expect_recv_leaves_out_who_is_slow(Way::messages);
}

TEST_F(VecEnvJobs, are_processes_of_their_own_and_end_with_it) {
  open();
  {
    auto envs = vec_env<Puppet>({.envs = 4, .jobs = 2}, Way::shared_memory);
    const auto& batch = envs.reset();
    const auto pid = [&](std::size_t i) { return batch.observation(i)[2]; };
    EXPECT_EQ(pid(0), pid(1));
    EXPECT_EQ(pid(2), pid(3));
    EXPECT_NE(pid(0), pid(2));
    EXPECT_NE(pid(0), static_cast<float>(::getpid()));
    EXPECT_EQ(memories(), 1U);
  }
  EXPECT_EQ(memories(), 0U);
  EXPECT_TRUE(e2e::wait_until([&] { return e2e::jobs(mark()).empty(); }));
}

TEST_F(VecEnvJobs, may_share_one_process) {
  open();
  auto envs = vec_env<Puppet>({.envs = 4, .jobs = 4, .resources = {.cpu = 0.25}},
                              Way::shared_memory);
  envs.reset();
  const auto& batch = envs.step(std::vector<float>(4, Puppet::go_on));
  EXPECT_EQ(batch.observation(0)[2], batch.observation(3)[2]);
}

TEST_F(VecEnvJobs, take_the_name_of_the_environment) {
  open();
  VecEnvOptions options{.envs = 2};
  AnyVecEnv here(options, "cartpole");
  options.jobs = 2;
  AnyVecEnv jobs(options, "cartpole");
  EXPECT_EQ(jobs.spaces(), here.spaces());
  EXPECT_EQ(run(jobs, 30), run(here, 30));
  EXPECT_THROW(AnyVecEnv(options, "cartpol"), std::exception);
}

/// Shows the argument that it was made from, and its last action.
class Fixed {
public:
  using Action = std::array<float, 2>;
  static constexpr Action action_low{-1, -1}, action_high{1, 1};
  static constexpr std::size_t observation_size = 3;
  explicit Fixed(float value) : value_(value) {}
  void reset(std::uint64_t) {}
  Step step(Action action) {
    last_ = action;
    return {};
  }
  void observe(std::span<float> out) const {
    out[0] = value_;
    out[1] = last_[0];
    out[2] = last_[1];
  }

private:
  float value_;
  Action last_ = {};
};

TEST_F(VecEnvJobs, take_arguments_of_the_environment) {
  open();
  VecEnv<Fixed> envs({.envs = 2, .jobs = 2}, 4.5F);
  EXPECT_EQ(envs.reset().observation(1)[0], 4.5F);
  const std::vector<Fixed::Action> actions = {{0.25F, 0.5F}, {0.75F, 1.0F}};
  const auto& batch = envs.step(actions);
  EXPECT_EQ(batch.observation(1)[1], 0.75F);
  EXPECT_EQ(batch.observation(1)[2], 1.0F);
}

} // namespace
} // namespace fiber::rl::tests
