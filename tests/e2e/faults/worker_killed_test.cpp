// SPDX-License-Identifier: Apache-2.0
// kill -9 of workers and of the zygote, at every moment of a worker's life.
#include <algorithm>
#include <csignal>
#include <thread>

#include <unistd.h>

#include <fiber/this_task.hpp>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// The last attempt of each task that ran, from the lines "index attempt".
int last_attempt(std::size_t index) {
  int last = 0;
  for (auto& line : notes("attempts"))
    if (std::stoul(line) == index)
      last = std::max(last, std::stoi(line.substr(line.find(' '))));
  return last;
}

/// Blocks in its first run if it is the 7th; tells how often each task ran.
std::size_t victim_7(std::size_t i) {
  note("attempts", std::to_string(i) + " " + std::to_string(this_task::attempt()));
  if (i == 7 && this_task::attempt() == 1)
    note_and_wait("victims");
  return f(i);
}

class WorkerKilled : public SessionTest {};

/// The ways in which a job starts and talks.
class WorkerKilledOn : public SessionTest,
                       public testing::WithParamInterface<const char*> {
protected:
  void open_with(const std::string& way) {
    Config config;
    if (way == "tls")
      config.link = "tls";
    if (way == "no_zygote")
      config.zygote = "never";
    open(config);
  }
};

TEST_F(WorkerKilled, idle_is_replaced) {
  open();
  Pool pool(2);
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  auto before = await_jobs(2);
  ASSERT_EQ(before.size(), 2u);
  kill(before[0], SIGKILL);
  ASSERT_TRUE(await_lost(pool, 1));
  ASSERT_TRUE(wait_until([&] { return pool.stats().workers == 2; }));
  auto after = await_jobs(2);
  EXPECT_EQ(std::count(after.begin(), after.end(), before[0]), 0);
  EXPECT_EQ(std::count(after.begin(), after.end(), before[1]), 1);
  expect_works(pool, 2);
  EXPECT_EQ(pool.stats().workers_lost, 1u);
  EXPECT_EQ(pool.stats().retries, 0u);
}

TEST_P(WorkerKilledOn, in_a_task_runs_it_again) {
  open_with(GetParam());
  Pool pool(2);
  auto results = pool.map_async(victim_7, indices(40));
  kill(static_cast<pid_t>(noted("victims")), SIGKILL);
  EXPECT_EQ(results.get(), undisturbed(40));
  EXPECT_EQ(last_attempt(7), 2);
  EXPECT_EQ(results.done(), 40u);
  auto stats = pool.stats();
  EXPECT_EQ(stats.done, 40u);
  EXPECT_EQ(stats.failed, 0u);
  EXPECT_EQ(stats.workers_lost, 1u);
  EXPECT_GE(stats.retries, 1u);
  expect_works(pool, 2);
}

TEST_P(WorkerKilledOn, as_soon_as_it_exists_is_started_again) {
  open_with(GetParam());
  auto initialize = [] {
    std::this_thread::sleep_for(100ms); // The kill is first.
    note("initialized", std::to_string(getpid()));
  };
  Pool pool(PoolOptions{.workers = 2, .initializer = initialize});
  pool.start_workers();
  auto parent = getpid();
  if (GetParam() != std::string("no_zygote")) {
    ASSERT_TRUE(wait_until([&] { return (parent = zygote(mark())) != 0; }));
  }
  std::vector<pid_t> killed;
  auto end = std::chrono::steady_clock::now() + deadline;
  while (killed.size() < 4 && std::chrono::steady_clock::now() < end)
    for (auto pid : children(parent))
      if (killed.size() < 4 && lives(pid) &&
          std::count(killed.begin(), killed.end(), pid) == 0) {
        kill(pid, SIGKILL);
        killed.push_back(pid);
      }
  ASSERT_EQ(killed.size(), 4u);
  expect_works(pool, 2);
  EXPECT_EQ(pool.stats().workers_lost, 4u);
  auto early = std::count_if(killed.begin(), killed.end(), [](auto pid) {
    auto initialized = notes("initialized");
    return std::count(initialized.begin(), initialized.end(), std::to_string(pid)) == 0;
  });
  EXPECT_GE(early, 1);
}

// Each one a little later than the one before, until one has come to its initializer, and
// that again and again: what lies before, the handshake in particular, is struck on the
// way, however slow the machine.
TEST_P(WorkerKilledOn, at_any_moment_of_its_start_is_started_again) {
  open_with(GetParam());
  Pool pool(PoolOptions{
    .workers = 2, .initializer = [] { note("initialized", std::to_string(getpid())); }});
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  auto parent = GetParam() == std::string("no_zygote") ? getpid() : zygote(mark());
  auto known = children(parent);
  auto next_victim = [&] {
    auto end = std::chrono::steady_clock::now() + deadline;
    while (std::chrono::steady_clock::now() < end)
      for (auto pid : children(parent))
        if (std::count(known.begin(), known.end(), pid) == 0)
          return known.emplace_back(pid);
    return pid_t{0};
  };
  auto victim = await_jobs(2).back();
  std::size_t killed = 0, early = 0, late = 0;
  auto delay = 0us;
  auto end = std::chrono::steady_clock::now() + deadline;
  while ((early < 3 || late < 3) && std::chrono::steady_clock::now() < end) {
    kill(victim, SIGKILL);
    ++killed;
    victim = next_victim();
    ASSERT_GT(victim, 0);
    // By the one that stays: while tasks end, losses are no reason to give up.
    EXPECT_EQ(pool.apply(f, killed), f(killed));
    std::this_thread::sleep_for(delay);
    auto initialized = notes("initialized");
    if (std::count(initialized.begin(), initialized.end(), std::to_string(victim)) > 0) {
      ++late;
      delay = 0us;
    } else {
      ++early;
      delay += delay / 4 + 100us;
    }
  }
  EXPECT_GE(early, 3u);
  EXPECT_GE(late, 3u);
  expect_works(pool, 2);
  EXPECT_EQ(pool.stats().workers_lost, killed);
  EXPECT_EQ(pool.stats().retries, 0u);
  EXPECT_EQ(pool.stats().failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Links, WorkerKilledOn,
                         testing::Values("auto", "tls", "no_zygote"),
                         [](auto& way) { return std::string(way.param); });

TEST_F(WorkerKilled, in_the_middle_of_a_chunk_repeats_only_what_was_not_delivered) {
  open();
  Pool pool(1);
  auto results = pool.map_async(
    [](std::size_t i) {
      note("runs", std::to_string(i));
      if (i == 30 && this_task::attempt() == 1)
        note_and_wait("victims");
      return f(i);
    },
    indices(100), {.chunksize = 50});
  auto victim = noted("victims");
  ASSERT_TRUE(
    wait_until([&] { return results.done() == 30; })); // They come while task 30 runs.
  kill(static_cast<pid_t>(victim), SIGKILL);
  EXPECT_EQ(results.get(), undisturbed(100));
  auto counts = runs("runs", 100);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(counts[i], i == 30 ? 2u : 1u) << i;
  EXPECT_EQ(pool.stats().done, 100u);
  EXPECT_EQ(pool.stats().workers_lost, 1u);
  expect_works(pool, 1);
}

TEST_F(WorkerKilled, about_when_it_sends_a_result_counts_it_once) {
  open();
  Pool pool(1);
  constexpr std::size_t rounds = 20;
  std::size_t delivered = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    // Dies 0 to 5 ms after its task ended: before the result has left, while it does,
    // after it.
    auto [value, attempt] = pool.apply(
      [](std::size_t round) {
        if (this_task::attempt() == 1)
          std::thread([round] {
            std::this_thread::sleep_for(250us * round);
            kill(getpid(), SIGKILL);
          }).detach();
        return std::pair(f(round), this_task::attempt());
      },
      i);
    EXPECT_EQ(value, f(i));
    delivered += attempt == 1 ? 1 : 0;
    ASSERT_TRUE(await_lost(pool, i + 1));
  }
  EXPECT_GE(delivered, 1u);
  auto stats = pool.stats();
  EXPECT_EQ(stats.done, rounds);
  EXPECT_EQ(stats.failed, 0u);
  EXPECT_EQ(stats.workers_lost, rounds);
  EXPECT_EQ(stats.retries, rounds - delivered);
  expect_works(pool, 1);
}

TEST_F(WorkerKilled, by_itself_before_its_first_task_is_started_again) {
  open();
  Pool pool(PoolOptions{.workers = 2, .initializer = [] {
                          if (note("starts", std::to_string(getpid())) <= 3)
                            kill(getpid(), SIGKILL);
                        }});
  EXPECT_EQ(pool.map(f, indices(40)), undisturbed(40));
  expect_works(pool, 2);
  EXPECT_EQ(notes("starts").size(), 5u);
  EXPECT_EQ(pool.stats().workers_lost, 3u);
  EXPECT_EQ(pool.stats().retries, 0u);
}

/// Everybody's first task blocks; `n` of them are waited for.
std::vector<pid_t> blocked(std::size_t n) {
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < n; ++i)
    pids.push_back(static_cast<pid_t>(noted("blocked", i)));
  return pids;
}

std::size_t block_once(std::size_t i) {
  note("runs", std::to_string(i));
  if (this_task::attempt() == 1 && notes("go").empty())
    note_and_wait("blocked");
  return f(i);
}

TEST_F(WorkerKilled, along_with_all_others_is_replaced) {
  open();
  Pool pool(4);
  auto results = pool.map_async(block_once, indices(60));
  for (auto pid : blocked(4))
    kill(pid, SIGKILL);
  ASSERT_TRUE(await_lost(pool, 4));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_EQ(pool.stats().done, 60u);
  EXPECT_EQ(pool.stats().failed, 0u);
  EXPECT_EQ(pool.stats().workers_lost, 4u);
  EXPECT_GE(pool.stats().retries, 4u);
  expect_works(pool, 4);
}

class ZygoteKilled : public SessionTest {};

TEST_F(ZygoteKilled, alone_disturbs_no_task_and_is_replaced) {
  open();
  Pool pool(2);
  auto results = pool.map_async(block_once, indices(60));
  auto workers = blocked(2);
  auto first = zygote(mark());
  ASSERT_GT(first, 0);
  kill(first, SIGKILL);
  ASSERT_TRUE(wait_until([&] { return !lives(first); }));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  EXPECT_EQ(pool.stats().retries, 0u);
  auto counts = runs("runs", 60);
  EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](auto n) { return n == 1; }));
  for (auto pid : workers)
    kill(pid, SIGKILL); // Orphans by now: their end is seen all the same.
  ASSERT_TRUE(await_lost(pool, 2));
  expect_works(pool, 2);
  EXPECT_NE(zygote(mark()), 0);
  EXPECT_NE(zygote(mark()), first);
}

TEST_F(ZygoteKilled, with_all_workers_is_replaced_with_them) {
  open();
  Pool pool(3);
  auto results = pool.map_async(block_once, indices(60));
  auto workers = blocked(3);
  auto first = zygote(mark());
  ASSERT_GT(first, 0);
  kill(first, SIGKILL);
  for (auto pid : workers)
    kill(pid, SIGKILL);
  ASSERT_TRUE(await_lost(pool, 3));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_EQ(pool.stats().done, 60u);
  EXPECT_EQ(pool.stats().failed, 0u);
  EXPECT_EQ(pool.stats().workers_lost, 3u);
  expect_works(pool, 3);
  EXPECT_NE(zygote(mark()), first);
}

} // namespace
} // namespace fiber::e2e
