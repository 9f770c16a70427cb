// SPDX-License-Identifier: Apache-2.0
// The promise: a task that is to stop, since its time is over or nobody wants it any
// more, is told so; one that goes on all the same loses its worker, and nobody else loses
// anything.
#include <chrono>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// Number 3 never ends, whatever it is told.
std::size_t deaf(std::size_t i) {
  if (i == 3)
    note("began", std::to_string(getpid()));
  while (i == 3)
    std::this_thread::sleep_for(1ms);
  return f(i);
}

/// Numbers from 3 to 5 end when they are told to.
std::size_t obedient(std::size_t i) {
  if (i < 3 || i > 5)
    return f(i);
  note("began", std::to_string(i));
  auto stop = this_task::stop_token();
  while (!stop.stop_requested())
    std::this_thread::sleep_for(1ms);
  note("stopped", std::to_string(i));
  return f(i);
}

template <class E, class F>
std::string words(F call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "none";
}

using Deadline = EveryMode;

TEST_P(Deadline, is_told_to_the_task_and_to_the_caller) {
  Pool pool(PoolOptions{.workers = 2, .task_timeout = 200ms, .cancel_grace = 60s});
  auto outcomes = pool.map_async(obedient, indices(40)).outcomes();
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (i >= 3 && i <= 5) {
      EXPECT_EQ(words<TimeoutError>([&] { outcomes[i].value(); }),
                "task " + std::to_string(i) +
                  " ran for longer than 0.2 s (task_timeout)");
    } else {
      EXPECT_EQ(outcomes[i].value(), f(i));
    }
  await_note("stopped");
  EXPECT_EQ(notes("began").size(), 3u) << "a task was run again";
  expect_works(pool, 2);
  EXPECT_EQ(pool.stats().failed, 3u);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_P(Deadline, disturbs_no_task_that_is_in_time) {
  Pool pool(PoolOptions{.workers = 3, .task_timeout = 60s});
  EXPECT_EQ(pool.map(f, indices(5000)), undisturbed(5000));
  EXPECT_EQ(pool.stats().failed, 0u);
}

TEST_P(Deadline, that_makes_no_sense_is_refused) {
  EXPECT_THROW(Pool(PoolOptions{.task_timeout = 0ms}), ConfigError);
  EXPECT_THROW(Pool(PoolOptions{.cancel_grace = -1ms}), ConfigError);
}

/// Those whose jobs can be ended.
class OnJobs : public EveryMode {};

TEST_P(OnJobs, a_task_that_does_not_stop_loses_its_worker_and_nobody_is_charged) {
  Pool pool(PoolOptions{
    .workers = 2, .max_retries = 1, .task_timeout = 300ms, .cancel_grace = 200ms});
  auto outcomes = pool.map_async(deaf, indices(40)).outcomes();
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (i == 3) {
      EXPECT_NE(words<TimeoutError>([&] { outcomes[i].value(); }).find("task 3 ran"),
                std::string::npos);
    } else {
      EXPECT_EQ(outcomes[i].value(), f(i));
    }
  EXPECT_TRUE(wait_until([&] { return !lives(static_cast<pid_t>(noted("began"))); }));
  expect_works(pool, 2);
  EXPECT_EQ(notes("began").size(), 1u) << "it was run again";
  EXPECT_EQ(pool.stats().workers_lost, 0u) << "its end was wanted";
}

TEST_P(OnJobs, tasks_beside_one_that_does_not_stop_run_again) {
  Pool pool(PoolOptions{.workers = 3,
                        .workers_per_job = 3,
                        .max_retries = 1,
                        .task_timeout = 500ms,
                        .cancel_grace = 0ms});
  for (int round = 0; round < 3; ++round) {
    auto outcomes = pool.map_async(deaf, indices(20), {.chunksize = 3}).outcomes();
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      EXPECT_EQ(outcomes[i].ok(), i != 3) << i;
  }
  expect_works(pool, 3);
}

TEST_P(OnJobs, a_cancelled_task_that_does_not_stop_loses_its_worker) {
  Pool pool(PoolOptions{.workers = 1, .cancel_grace = 100ms});
  auto future = pool.apply_async(deaf, std::size_t{3});
  auto job = static_cast<pid_t>(noted("began"));
  future.cancel();
  EXPECT_THROW(future.get(), Cancelled);
  EXPECT_TRUE(wait_until([&] { return !lives(job); }));
  expect_works(pool, 1);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_P(OnJobs, a_cancelled_task_that_stops_keeps_its_worker) {
  Pool pool(PoolOptions{.workers = 2, .cancel_grace = 60s});
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  auto workers = await_jobs(2);
  auto map = pool.map_async(obedient, indices(100), {.chunksize = 1});
  await_note("began");
  map.cancel();
  for (auto& outcome : map.outcomes()) {
    if (!outcome.ok()) {
      EXPECT_THROW(outcome.value(), Cancelled);
    }
  }
  await_note("stopped");
  expect_works(pool, 2);
  EXPECT_EQ(await_jobs(2), workers);
}

TEST_P(OnJobs, a_stream_that_is_left_does_not_keep_the_workers) {
  Pool pool(PoolOptions{.workers = 2, .cancel_grace = 50ms});
  {
    auto range = pool.imap_unordered(deaf, indices(10));
    noted("began");
  }
  EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100));
  expect_works(pool, 2);
}

TEST_P(OnJobs, other_calls_of_the_worker_lose_nothing) {
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0, .cancel_grace = 100ms});
  auto stuck = pool.apply_async(deaf, std::size_t{3});
  noted("began");
  auto behind = pool.map_async(f, indices(50));
  stuck.cancel();
  EXPECT_EQ(behind.get(), undisturbed(50)) << "they had not started";
}

INSTANTIATE_TEST_SUITE_P(On, Deadline, testing::ValuesIn(modes()), mode_name);
INSTANTIATE_TEST_SUITE_P(With, OnJobs, testing::ValuesIn(job_modes()), mode_name);

} // namespace
} // namespace fiber::e2e
