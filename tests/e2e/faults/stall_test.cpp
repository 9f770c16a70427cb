// SPDX-License-Identifier: Apache-2.0
// Workers that stand still, for too long or not, and workers that are asked to go.
#include <algorithm>
#include <csignal>
#include <thread>

#include <unistd.h>

#include <fiber/error.hpp>
#include <fiber/this_task.hpp>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// The 5th waits in its first run until the test says go; all count themselves.
std::size_t wait_5(std::size_t i) {
  note("runs", std::to_string(i));
  if (i == 5 && this_task::attempt() == 1)
    note_and_wait("victims");
  return f(i);
}

class StalledWorker : public SessionTest,
                      public testing::WithParamInterface<const char*> {};

TEST_P(StalledWorker, beyond_the_timeout_is_replaced) {
  open({.heartbeat_timeout = 1s, .lease = 4s, .link = GetParam()});
  Pool pool(2);
  auto results = pool.map_async(wait_5, indices(60));
  auto victim = static_cast<pid_t>(noted("victims"));
  kill(victim, SIGSTOP);
  // Nobody continues it: the result has to come from somebody else.
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_EQ(runs("runs", 60)[5], 2u);
  EXPECT_EQ(pool.stats().workers_lost, 1u);
  EXPECT_GE(pool.stats().retries, 1u);
  EXPECT_EQ(pool.stats().done, 60u);
  EXPECT_TRUE(wait_until([&] { return !lives(victim); }));
  expect_works(pool, 2);
}

TEST_P(StalledWorker, below_the_timeout_is_left_alone) {
  open({.heartbeat_timeout = 20s, .lease = 60s, .link = GetParam()});
  Pool pool(2);
  auto results = pool.map_async(wait_5, indices(60));
  auto victim = static_cast<pid_t>(noted("victims"));
  kill(victim, SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return is_stopped(victim); }));
  std::this_thread::sleep_for(2s); // The stall itself, a tenth of the timeout.
  EXPECT_TRUE(is_stopped(victim));
  kill(victim, SIGCONT);
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(60));
  auto counts = runs("runs", 60);
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 1u), 60);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  EXPECT_EQ(pool.stats().retries, 0u);
  EXPECT_TRUE(lives(victim));
  expect_works(pool, 2);
}

INSTANTIATE_TEST_SUITE_P(On, StalledWorker, testing::Values("auto", "tls"),
                         [](auto& link) { return std::string(link.param); });

class DrainedWorker : public SessionTest {};

TEST_F(DrainedWorker, finishes_its_task_and_hands_the_others_back) {
  open();
  // With max_retries = 0 a task that was charged, or that ran twice, would fail.
  Pool pool(PoolOptions{.workers = 2, .max_retries = 0});
  auto results = pool.map_async(wait_5, indices(60), {.chunksize = 10});
  auto victim = static_cast<pid_t>(noted("victims"));
  kill(victim, SIGTERM);
  ASSERT_TRUE(wait_until([&] { return results.done() >= 54; })); // All but what it runs.
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(60));
  auto counts = runs("runs", 60);
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 1u), 60);
  EXPECT_TRUE(wait_until([&] { return !lives(victim); }));
  EXPECT_EQ(pool.stats().failed, 0u);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 2);
}

TEST_F(DrainedWorker, that_is_idle_is_replaced) {
  open();
  Pool pool(PoolOptions{.workers = 2, .max_retries = 0});
  EXPECT_EQ(pool.map(f, indices(20)), undisturbed(20));
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  auto before = await_jobs(2);
  ASSERT_EQ(before.size(), 2u);
  for (auto pid : before)
    kill(pid, SIGTERM);
  ASSERT_TRUE(wait_until([&] {
    return std::none_of(before.begin(), before.end(),
                        [](auto pid) { return lives(pid); });
  }));
  expect_works(pool, 2);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_F(DrainedWorker, under_load_costs_nothing_however_often) {
  open();
  Pool pool(PoolOptions{.workers = 3, .max_retries = 0});
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  auto before = await_jobs(3);
  ASSERT_EQ(before.size(), 3u);
  auto results = pool.map_async(
    [](std::size_t i) {
      note("runs", std::to_string(i));
      std::this_thread::sleep_for(2ms);
      return f(i);
    },
    indices(600));
  std::size_t asked = 0;
  do {
    auto from = results.done();
    for (auto pid : jobs(mark()))
      kill(pid, SIGTERM); // All of them, those that still start included.
    wait_until([&] { return results.ready() || results.done() > from + 60; });
  } while (++asked < 5 && !results.ready());
  EXPECT_EQ(results.get(), undisturbed(600));
  EXPECT_TRUE(
    wait_until([&] { return std::none_of(before.begin(), before.end(), lives); }));
  auto counts = runs("runs", 600);
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 1u), 600);
  EXPECT_EQ(pool.stats().failed, 0u);
  expect_works(pool, 3);
}

} // namespace
} // namespace fiber::e2e
