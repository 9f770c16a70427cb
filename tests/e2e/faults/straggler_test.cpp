// SPDX-License-Identifier: Apache-2.0
// The promise of MapOptions::speculate: one slow worker does not hold up a map, each
// result counts once, and a copy that is lost costs nothing as long as there is another
// one.
#include <csignal>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include <unistd.h>

#include <fiber/error.hpp>
#include <fiber/this_task.hpp>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

const MapOptions speculating{.speculate = 3};

/// The 5th waits in its first run until the test says go; all count themselves.
std::size_t first_5_waits(std::size_t i) {
  note("runs", std::to_string(i));
  if (i == 5 && this_task::attempt() == 1)
    note_and_wait("victims");
  return f(i);
}

/// The 5th goes on in its first run until it is told to stop.
std::size_t first_5_is_obedient(std::size_t i) {
  if (i != 5 || this_task::attempt() > 1)
    return f(i);
  note("victims", std::to_string(getpid()));
  auto stop = this_task::stop_token();
  while (!stop.stop_requested())
    std::this_thread::sleep_for(1ms);
  note("stopped", std::to_string(getpid()));
  return 0; // Which must not count.
}

/// The 5th waits in its first run and in the copy.
std::size_t two_of_5_wait(std::size_t i) {
  note("runs", std::to_string(i));
  if (i == 5 && this_task::attempt() <= 2)
    note_and_wait(this_task::attempt() == 1 ? "first" : "copy");
  return f(i);
}

class Straggler : public SessionTest {};

TEST_F(Straggler, that_stands_still_below_the_timeout_holds_up_nothing) {
  open({.heartbeat_timeout = 120s, .lease = 600s});
  Pool pool(PoolOptions{.workers = 2, .cancel_grace = 200ms});
  auto results = pool.map_async(first_5_waits, indices(60), speculating);
  auto victim = static_cast<pid_t>(noted("victims"));
  kill(victim, SIGSTOP);
  // Nobody continues it, and it is not declared dead before the test fails.
  ASSERT_TRUE(results.wait_for(deadline));
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_EQ(runs("runs", 60)[5], 2u);
  auto stats = pool.stats();
  EXPECT_EQ(stats.done, 60u);
  EXPECT_EQ(stats.retries, 0u);
  EXPECT_GE(stats.speculated, 1u);
  EXPECT_TRUE(wait_until([&] { return !lives(victim); })) << "it does not stop";
  expect_works(pool, 2);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_F(Straggler, that_stands_still_with_a_chunk_has_it_done_elsewhere) {
  open({.heartbeat_timeout = 120s, .lease = 600s});
  Pool pool(PoolOptions{.workers = 2, .cancel_grace = 60s}); // Nor is it replaced.
  auto results =
    pool.map_async(first_5_waits, indices(60), {.chunksize = 20, .speculate = 3});
  kill(static_cast<pid_t>(noted("victims")), SIGSTOP);
  ASSERT_TRUE(results.wait_for(deadline));
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_EQ(pool.stats().done, 60u);
  EXPECT_EQ(pool.stats().workers, 2u);
}

TEST_F(Straggler, that_stops_when_it_is_told_to_keeps_its_worker) {
  open();
  Pool pool(PoolOptions{.workers = 2, .cancel_grace = 60s});
  EXPECT_EQ(pool.map(first_5_is_obedient, indices(60), speculating), undisturbed(60));
  auto victim = noted("victims");
  EXPECT_EQ(noted("stopped"), victim);
  // On a loaded machine other tasks may have had copies, too.
  EXPECT_TRUE(wait_until([&] { return pool.stats().late > 0; })) << "its own result";
  EXPECT_TRUE(lives(static_cast<pid_t>(victim)));
  expect_works(pool, 2);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  EXPECT_EQ(pool.stats().failed, 0u);
}

TEST_F(Straggler, of_a_chunk_is_in_the_journal_once) {
  open();
  Pool pool(PoolOptions{.workers = 2, .cancel_grace = 60s});
  MapOptions options{
    .chunksize = 10, .journal = (folder() / "journal").string(), .speculate = 3};
  EXPECT_EQ(pool.map(first_5_is_obedient, indices(60), options), undisturbed(60));
  noted("stopped"); // Its own result is refused.
  EXPECT_TRUE(wait_until([&] { return pool.stats().running == 0; }));
  EXPECT_EQ(pool.map(first_5_is_obedient, indices(60), options), undisturbed(60));
  EXPECT_EQ(notes("victims").size(), 1u) << "the second map ran it again";
}

TEST_F(Straggler, holds_up_a_map_that_does_not_ask_for_copies) {
  open();
  Pool pool(2);
  auto results = pool.map_async(first_5_waits, indices(60));
  noted("victims");
  ASSERT_TRUE(wait_until([&] { return results.done() == 59; }));
  EXPECT_FALSE(results.wait_for(200ms));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_EQ(runs("runs", 60)[5], 1u);
  EXPECT_EQ(pool.stats().speculated, 0u);
}

class LostCopy : public SessionTest {
protected:
  /// Until the 5th task waits in both of its copies.
  void begin() {
    open();
    results = pool().map_async(two_of_5_wait, indices(60), speculating);
    first = static_cast<pid_t>(noted("first"));
    copy = static_cast<pid_t>(noted("copy"));
    ASSERT_NE(first, copy);
  }
  /// What was lost was replaced, and the 5th did not run more often than it had to.
  void expect_runs(std::size_t of_5, std::size_t lost, std::size_t retries) {
    EXPECT_EQ(results->get(), undisturbed(60));
    auto counts = runs("runs", 60);
    EXPECT_EQ(counts[5], of_5);
    auto stats = pool().stats();
    EXPECT_EQ(stats.done, 60u);
    EXPECT_EQ(stats.failed, 0u);
    EXPECT_EQ(stats.workers_lost, lost);
    EXPECT_EQ(stats.retries, retries);
    expect_works(pool(), 2);
  }
  Pool& pool() {
    if (!pool_) // One charge more would fail the task.
      pool_.emplace(PoolOptions{.workers = 2, .max_retries = 1});
    return *pool_;
  }

  std::optional<MapResult<std::size_t>> results;
  pid_t first = 0, copy = 0;

private:
  std::optional<Pool> pool_;
};

TEST_F(LostCopy, leaves_the_task_to_the_first) {
  begin();
  kill(copy, SIGKILL);
  ASSERT_TRUE(await_lost(pool(), 1));
  note("go", "");
  expect_runs(2, 1, 0);
}

TEST_F(LostCopy, takes_over_from_a_first_that_is_lost) {
  begin();
  kill(first, SIGKILL);
  ASSERT_TRUE(await_lost(pool(), 1));
  note("go", "");
  expect_runs(2, 1, 0);
}

TEST_F(LostCopy, of_two_costs_the_task_one_retry) {
  begin();
  kill(first, SIGKILL);
  ASSERT_TRUE(await_lost(pool(), 1));
  kill(copy, SIGKILL);
  expect_runs(3, 2, 1); // Without a go: the third run does not wait.
}

class SpeculateOption : public SessionTest {};

TEST_F(SpeculateOption, that_makes_no_sense_is_refused) {
  open();
  Pool pool(2);
  for (auto factor : {-1.0, 0.5, 1e7, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(pool.map(f, indices(3), {.speculate = factor}), ConfigError) << factor;
  EXPECT_EQ(pool.map(f, indices(3), {.speculate = 1}), undisturbed(3));
}

TEST_F(SpeculateOption, is_refused_where_tasks_run_once_at_most) {
  open();
  Pool pool(PoolOptions{.workers = 2, .max_retries = 0});
  try {
    pool.map(f, indices(3), speculating);
    FAIL() << "it was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key(), "speculate");
    EXPECT_NE(std::string(error.what()).find("max_retries"), std::string::npos);
  }
  EXPECT_EQ(pool.map(f, indices(3)), undisturbed(3));
}

TEST_F(SpeculateOption, does_nothing_on_one_thread) {
  open({.backend = "inline"});
  Pool pool(2);
  EXPECT_EQ(pool.map(f, indices(30), speculating), undisturbed(30));
  EXPECT_EQ(pool.stats().speculated, 0u);
}

} // namespace
} // namespace fiber::e2e
