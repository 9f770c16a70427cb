// SPDX-License-Identifier: Apache-2.0
// How often a task may run: at most once, or again after a loss or an exception.
#include <algorithm>
#include <csignal>

#include <unistd.h>

#include <fiber/error.hpp>
#include <fiber/this_task.hpp>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

bool lethal(std::size_t i) {
  return i == 20 || i == 60;
}

std::size_t die_at_some(std::size_t i) {
  note("runs", std::to_string(i));
  if (lethal(i))
    kill(getpid(), SIGKILL);
  return f(i);
}

class AtMostOnce : public SessionTest {
protected:
  /// Runs 100 tasks with max_retries = 0; returns those that failed.
  std::vector<std::size_t> failed(std::size_t workers_per_job, MapOptions how) {
    open();
    Pool pool(
      PoolOptions{.workers = 4, .workers_per_job = workers_per_job, .max_retries = 0});
    auto outcomes = pool.map_async(die_at_some, indices(100), how).outcomes();
    std::vector<std::size_t> failures;
    auto counts = runs("runs", 100);
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_LE(counts[i], 1u) << i;
      if (outcomes[i].ok()) {
        EXPECT_EQ(outcomes[i].value(), f(i));
        EXPECT_EQ(counts[i], 1u) << i;
        continue;
      }
      failures.push_back(i);
      try {
        outcomes[i].value();
      } catch (const WorkerLost& lost) {
        EXPECT_EQ(lost.index(), i);
        EXPECT_EQ(lost.attempts(), 1);
        EXPECT_EQ(lost.exits(), std::vector<std::optional<int>>{-SIGKILL});
      }
    }
    auto stats = pool.stats();
    EXPECT_EQ(stats.workers_lost, 2u);
    EXPECT_EQ(stats.done, 100 - failures.size());
    EXPECT_EQ(stats.failed, failures.size());
    expect_works(pool, 4);
    return failures;
  }
};

TEST_F(AtMostOnce, is_what_no_retries_means_and_the_others_complete) {
  EXPECT_EQ(failed(1, {.chunksize = 1}), (std::vector<std::size_t>{20, 60}));
}

// Others may fail here: what ran beside a task that died, or before it with its result
// not sent yet.
TEST_F(AtMostOnce, holds_for_chunks_and_several_slots_a_job) {
  auto failures = failed(2, {.chunksize = 10});
  EXPECT_TRUE(std::count(failures.begin(), failures.end(), 20u) == 1);
  EXPECT_TRUE(std::count(failures.begin(), failures.end(), 60u) == 1);
}

class RetriedTask : public SessionTest {};

TEST_F(RetriedTask, after_an_exception_runs_again_if_asked_to) {
  open();
  Pool pool(PoolOptions{.workers = 2, .max_retries = 2, .retry_exceptions = true});
  auto results = pool.map(
    [](std::size_t i) {
      note("runs", std::to_string(i));
      if (i % 10 == 3 && this_task::attempt() < 3)
        throw std::runtime_error("not yet");
      return f(i);
    },
    indices(50));
  EXPECT_EQ(results, undisturbed(50));
  auto counts = runs("runs", 50);
  for (std::size_t i = 0; i < 50; ++i)
    EXPECT_EQ(counts[i], i % 10 == 3 ? 3u : 1u) << i;
  EXPECT_EQ(pool.stats().retries, 10u);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 2);
}

TEST_F(RetriedTask, that_always_throws_fails_after_the_last_attempt) {
  open();
  Pool pool(PoolOptions{.workers = 2, .max_retries = 2, .retry_exceptions = true});
  auto task = pool.apply_async(
    [](int i) -> int {
      note("runs", std::to_string(i));
      throw std::out_of_range("never");
    },
    0);
  try {
    task.get();
    FAIL() << "no error";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.attempt(), 3);
    EXPECT_STREQ(error.type().c_str(), "std::out_of_range");
  }
  EXPECT_EQ(runs("runs", 1)[0], 3u);
  expect_works(pool, 2);
}

TEST_F(RetriedTask, without_a_limit_outlives_any_number_of_workers) {
  open();
  Pool pool(PoolOptions{.workers = 2, .max_retries = -1});
  auto attempts = pool.map(
    [](std::size_t i) {
      if (i == 4 && this_task::attempt() <= 8)
        kill(getpid(), SIGKILL);
      return this_task::attempt();
    },
    indices(10));
  EXPECT_EQ(attempts[4], 9);
  EXPECT_EQ(pool.stats().workers_lost, 8u);
  expect_works(pool, 2);
}

TEST_F(RetriedTask, after_an_exception_is_not_what_happens_by_default) {
  open();
  Pool pool(2);
  auto task = pool.apply_async(
    [](int i) -> int {
      note("runs", std::to_string(i));
      throw std::runtime_error("once");
    },
    0);
  EXPECT_THROW(task.get(), RemoteError);
  EXPECT_EQ(runs("runs", 1)[0], 1u);
  EXPECT_EQ(pool.stats().retries, 0u);
  expect_works(pool, 2);
}

} // namespace
} // namespace fiber::e2e
