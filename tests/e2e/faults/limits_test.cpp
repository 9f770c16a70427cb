// SPDX-License-Identifier: Apache-2.0
// What a machine has only so much of: memory, processes, room on a disk; and what a
// program has too much of: futures, cancels, bytes in a result.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>
#include <optional>
#include <ranges>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fiber/fiber.hpp>

#include "backends/container/control_group.hpp"
#include "base/unique_fd.hpp"
#include "tests/e2e/faults/control_group.hpp"
#include "tests/e2e/faults/small_disk.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/e2e/support/memory.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mib = std::size_t{1} << 20;

struct Limits : SessionTest {
  ~Limits() override { close(); } // Before the group goes.

  /// False, with the test skipped, if there can be none.
  bool make_group(const char* controller) {
    try {
      group.emplace(controller);
    } catch (const NoControlGroup& error) {
      why_not = error.what();
    }
    return group.has_value();
  }
  std::optional<ControlGroup> group;
  std::string why_not;
};

/// So much memory, really used.
std::vector<char> eat(std::size_t bytes) {
  std::vector<char> food(bytes);
  for (std::size_t i = 0; i < bytes; i += 4096)
    food[i] = static_cast<char>(i);
  return food;
}

/// The 5th of them never has enough; the worker was at work before.
std::size_t hungry_5(std::size_t i) {
  return i == 5 ? eat(512 * mib).size() : f(i);
}

TEST_F(Limits, of_memory_kill_a_worker_and_no_other_task) {
  if (!make_group("memory"))
    GTEST_SKIP() << why_not;
  group->limit(256 * mib);
  open();
  // By the workers: the driver has no limit.
  Pool pool(PoolOptions{.workers = 2,
                        .max_retries = 1,
                        .initializer = fiber::bind(join_group, group->door())});
  auto outcomes = pool.map_async(hungry_5, indices(60)).outcomes();
  for (std::size_t i = 0; i < 60; ++i) {
    if (i == 5)
      continue;
    ASSERT_TRUE(outcomes[i].ok()) << i;
    EXPECT_EQ(outcomes[i].value(), f(i));
  }
  try {
    outcomes[5].value();
    FAIL() << "it had enough";
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.exits(), std::vector<std::optional<int>>(2, -SIGKILL)) << lost.what();
  }
  expect_works(pool, 2);
}

// As in a container or a job of Slurm: the limit is one of driver and workers together.
TEST_F(Limits, of_memory_that_the_driver_shares_are_named_as_the_reason) {
  if (!make_group("memory"))
    GTEST_SKIP() << why_not;
  join_group(group->door());
  open();
  Pool pool(PoolOptions{.workers = 2, .max_retries = 0});
  expect_works(pool, 2);
  group->limit(group->current() + 512 * mib);
  try {
    pool.apply([] { return eat(2048 * mib).size(); });
    FAIL() << "it had enough";
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.reason(), "killed by SIGKILL (out of memory)") << lost.what();
  }
  try {
    pool.apply([] { kill(getpid(), SIGKILL); });
    FAIL() << "it lives";
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.reason(), "killed by SIGKILL") << lost.what();
  }
  group->unlimit();
  expect_works(pool, 2);
}

#if !defined(__SANITIZE_ADDRESS__) &&                                                    \
  !defined(__SANITIZE_THREAD__) // Which take all of it.
TEST_F(Limits, of_address_space_are_an_exception_of_the_task) {
  open();
  auto limit = [] {
    rlimit most{};
    getrlimit(RLIMIT_AS, &most);
    most.rlim_cur = 2048 * mib;
    setrlimit(RLIMIT_AS, &most);
  };
  Pool pool(PoolOptions{.workers = 2, .initializer = limit});
  try {
    pool.apply([] { return eat(4096 * mib).size(); });
    FAIL() << "it had enough";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.type(), "std::bad_alloc") << error.what();
  }
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 2);
}
#endif

// Forks fail, and threads of what was forked. Work goes on with the workers there are,
// and the others come when there is room.
TEST_F(Limits, of_processes_keep_workers_away_as_long_as_they_last) {
  if (!make_group("pids"))
    GTEST_SKIP() << why_not;
  join_group(group->door());
  open();
  Pool pool(2);
  EXPECT_EQ(pool.map(f, indices(60)), undisturbed(60));
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  group->limit(group->current() + 1); // A process, but not its thread.
  pool.resize(4);
  std::size_t rounds = 0;
  EXPECT_TRUE(wait_until([&] {
    EXPECT_EQ(pool.map(f, indices(60)), undisturbed(60));
    ++rounds;
    return pool.stats().workers_lost >= 3;
  }))
    << rounds;
  EXPECT_GE(pool.stats().workers, 2u);
  EXPECT_LT(pool.stats().workers, 4u);
  group->unlimit();
  expect_works(pool, 4);
  EXPECT_EQ(pool.stats().failed, 0u);
}

// Some of the many that start at once can fork, and lack their second thread.
TEST_F(Limits, of_processes_make_no_worker_crash_at_its_start) {
  if (!make_group("pids"))
    GTEST_SKIP() << why_not;
  join_group(group->door());
  open({.forward_output = true, .log_level = "warn"});
  Pool pool(2);
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  group->limit(group->current() + 55);
  testing::internal::CaptureStderr();
  pool.resize(100);
  EXPECT_TRUE(await_lost(pool, 70));
  // The log says so before another one is tried.
  EXPECT_TRUE(await_lost(pool, pool.stats().workers_lost + 1));
  EXPECT_EQ(pool.map(f, indices(60)), undisturbed(60));
  const auto log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("there is no room for more"), log.npos) << log;
  for (auto* sign : {"killed by", "terminate called"})
    EXPECT_EQ(log.find(sign), log.npos) << log;
  group->unlimit();
}

// A job starts more threads with its first queue.
TEST_F(Limits, of_processes_fail_a_task_that_makes_a_queue_and_not_its_worker) {
  if (!make_group("pids"))
    GTEST_SKIP() << why_not;
  join_group(group->door());
  open();
  Pool pool(1);
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  auto use_queue = [] {
    Queue<int> queue(1);
    queue.put(7);
    return queue.get();
  };
  group->limit(group->current() + 2);
  try {
    pool.apply(use_queue);
    ADD_FAILURE() << "there is room";
  } catch (const RemoteError& error) {
    EXPECT_NE(std::string(error.what()).find("Resource temporarily unavailable"),
              std::string::npos)
      << error.what();
  }
  group->unlimit();
  EXPECT_EQ(pool.apply(use_queue), 7);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_F(Limits, of_processes_that_leave_room_for_none_are_told) {
  if (!make_group("pids"))
    GTEST_SKIP() << why_not;
  join_group(group->door());
  open({.start_deadline = 3s, .log_level = "off"}); // The error is asked for.
  Pool pool(2);
  group->limit(group->current());
  try {
    pool.map(f, indices(60));
    FAIL() << "it found room";
  } catch (const BackendError& error) {
    EXPECT_NE(std::string(error.what()).find("Resource temporarily unavailable"),
              std::string::npos)
      << error.what();
    EXPECT_NE(std::string(error.what()).find("pids.max is "), std::string::npos)
      << error.what();
  }
  group->unlimit();
  Pool next(2);
  expect_works(next, 2);
}

/// What the machine has left, as far as this process may use it.
std::uint64_t available_bytes() {
  std::uint64_t available = 0;
  std::ifstream lines("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t kib = 0; lines >> name >> kib && std::getline(lines, unit);)
    if (name == "MemAvailable:")
      available = kib * 1024;
  for (auto& group : backends::control_groups("memory"))
    for (auto* file : {"/memory.max", "/memory.limit_in_bytes"}) {
      std::uint64_t limit = 0;
      if (std::ifstream(group + file) >> limit) // It may be "max".
        available = std::min(available, limit);
    }
  return available;
}

TEST_F(Limits, of_the_disk_under_a_journal_end_its_call_and_lose_no_result) {
  std::optional<SmallDisk> disk; // Outlives the pool.
  try {
    disk.emplace(folder() / "disk", mib);
  } catch (const NoNamespace& error) {
    GTEST_SKIP() << "no disk of its own: " << error.what();
  }
  open();
  Pool pool(2);
  constexpr std::size_t n = 3000;
  auto path = (folder() / "disk" / "journal").string();
  auto kilobyte = [](std::size_t i) {
    note("runs", std::to_string(i));
    return std::string(1000, static_cast<char>('a' + i % 26));
  };

  try {
    pool.map(kilobyte, indices(n), {.journal = path});
    FAIL() << "it had room";
  } catch (const Error& error) {
    std::string what = error.what();
    EXPECT_NE(what.find(path + " can't be written: No space left on device"), what.npos)
      << what;
  }
  const auto before = runs("runs", n);
  const auto in_the_journal = std::filesystem::file_size(path) / 1100; // At least.
  EXPECT_GT(in_the_journal, 500u);                                     // Half a disk.
  disk->resize(16 * mib);
  auto results = pool.map(kilobyte, indices(n), {.journal = path});
  const auto after = runs("runs", n);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(results[i], std::string(1000, static_cast<char>('a' + i % 26))) << i;
    EXPECT_LE(after[i], 2u) << i;
    kept += before[i] == 1 && after[i] == 1;
  }
  EXPECT_GE(kept, in_the_journal);
  expect_works(pool, 2);
}

#ifndef __SANITIZE_THREAD__ // Which takes four times as much besides.
/// Of different numbers, so that what is missing or doubled shows.
std::vector<std::uint64_t> count_to(std::size_t n) {
  std::vector<std::uint64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

class LimitsOf : public Limits, public testing::WithParamInterface<const char*> {};

// More than fits a signed 32-bit length.
TEST_P(LimitsOf, a_message_leave_room_for_3_gib) {
  constexpr std::size_t n = 3072 * mib / sizeof(std::uint64_t);
  if (available_bytes() < 12288 * mib)
    GTEST_SKIP() << "a result of 3 GiB needs a machine with 12 GiB left";
  open({.link = GetParam()});
  Pool pool(1);
  auto numbers = pool.apply(count_to, n);
  EXPECT_TRUE(std::ranges::equal(numbers, std::views::iota(std::uint64_t{0}, n)));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 1);
}

INSTANTIATE_TEST_SUITE_P(By, LimitsOf, testing::Values("auto", "tls"),
                         [](auto& link) { return std::string(link.param); });
#endif

TEST_F(Limits, of_a_message_fail_a_longer_result_and_say_so) {
  constexpr std::size_t four_gib = 4096 * mib;
  if (available_bytes() < 3 * four_gib)
    GTEST_SKIP() << "a result of 4 GiB needs a machine with 12 GiB left";
  open();
  Pool pool(1);
  try {
    pool.apply([](std::size_t bytes) { return std::vector<char>(bytes); }, four_gib);
    FAIL() << "it was sent";
  } catch (const RemoteError& error) {
    std::string what = error.what();
    EXPECT_NE(what.find(std::to_string(four_gib - mib)), what.npos) << what; // The limit,
    EXPECT_NE(what.find("4294967"), what.npos) << what; // and what it would have been.
    EXPECT_NE(what.find("too large"), what.npos) << what;
  }
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 1);
}

TEST_F(Limits, cancels_that_race_with_results_end_each_future_once) {
  open();
  Pool pool(2);
  constexpr std::size_t batches = 200, batch = 500;
  std::size_t values = 0, cancelled = 0;
  for (std::size_t n = 0; n < batches; ++n) {
    std::vector<Future<std::size_t>> futures;
    auto lag = n % 40 * 10; // So that some are cancelled before they run, others after.
    for (std::size_t i = 0; i < batch; ++i) {
      futures.push_back(pool.apply_async(f, i));
      if (i >= lag)
        futures[i - lag].cancel();
    }
    for (std::size_t i = batch - lag; i < batch; ++i)
      futures[i].cancel();
    for (std::size_t i = 0; i < batch; ++i) {
      bool has_value = false;
      try {
        EXPECT_EQ(futures[i].get(), f(i));
        has_value = true;
        ++values;
      } catch (const Cancelled&) {
        ++cancelled;
      }
      futures[i].cancel(); // Changes nothing any more.
      if (has_value) {
        EXPECT_EQ(futures[i].get(), f(i));
      } else {
        EXPECT_THROW(futures[i].get(), Cancelled);
      }
    }
  }
  EXPECT_EQ(values + cancelled, batches * batch);
  EXPECT_GT(values, 0u);
  EXPECT_GT(cancelled, 0u);
  EXPECT_TRUE(wait_until([&] {
    auto stats = pool.stats();
    return stats.queued == 0 && stats.running == 0;
  }));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 2);
}

TEST_F(Limits, futures_that_nobody_reads_leave_nothing) {
  open();
  Pool pool(2);
  auto drop = [&](std::size_t rounds) {
    for (std::size_t n = 0; n < rounds; ++n) {
      for (std::size_t i = 0; i < 1000; ++i)
        pool.apply_async([](std::size_t bytes) { return std::string(bytes, 'x'); },
                         std::size_t{10000});
      EXPECT_TRUE(wait_until([&] {
        auto stats = pool.stats();
        return stats.queued == 0 && stats.running == 0;
      }));
    }
  };
  drop(2);
  auto before = used_bytes();
  drop(30); // 300 MB, were they kept.
  auto after = used_bytes();
  EXPECT_LT(after, before + 64 * mib);
  EXPECT_EQ(pool.stats().done, 32000u);
  expect_works(pool, 2);
  EXPECT_GT(after, 0U); // Something was measured.
}

/// Stderr on a disk without room, as long as it lives.
class FullDisk {
public:
  FullDisk() : before_(::dup(STDERR_FILENO)) {
    UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    works_ = full && before_ && ::dup2(full.get(), STDERR_FILENO) >= 0 &&
             ::write(STDERR_FILENO, "x", 1) < 0 && errno == ENOSPC;
  }
  ~FullDisk() { ::dup2(before_.get(), STDERR_FILENO); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  bool works() const { return works_; }

private:
  UniqueFd before_;
  bool works_ = false;
};

TEST_F(Limits, of_the_disk_under_stderr_change_no_result) {
  FullDisk disk;
  ASSERT_TRUE(disk.works());
  open({.forward_output = true, .log_level = "trace"});
  Pool pool(2);
  auto loud = [](std::size_t i) {
    std::cout << "line " << i << std::endl;
    std::cerr << "line " << i << std::endl;
    if (i == 5 && this_task::attempt() == 1)
      kill(getpid(), SIGKILL); // Which the driver logs.
    return f(i);
  };
  EXPECT_EQ(pool.map(loud, indices(500), {.progress = true}), undisturbed(500));
  EXPECT_EQ(pool.stats().workers_lost, 1u);
  expect_works(pool, 2);
  close();
}

int nap(int i) {
  std::this_thread::sleep_for(20ms);
  return i;
}

// Seen: after 801 vain starts in 0.2 s the pool ended, although it could do the work. The
// last test of this program, because a hard limit can't be raised again.
TEST_F(Limits, of_open_files_leave_the_work_to_the_workers_there_is_room_for) {
  constexpr std::size_t wanted = 100;
  rlimit few{200, 200};
  setrlimit(RLIMIT_NOFILE, &few);
  open({.log_level = "warn"});
  Pool pool(wanted);
  testing::internal::CaptureStderr();
  auto naps = pool.map(nap, std::views::iota(0, 1000));
  EXPECT_TRUE(wait_until([&] { // A second attempt has failed.
    auto now = pool.stats();
    return now.workers + now.workers_lost > wanted;
  }));
  auto told = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::ranges::equal(naps, std::views::iota(0, 1000)));
  auto workers = pool.stats().workers;
  EXPECT_GT(workers, 20u);
  EXPECT_LT(workers, 67u) << "three descriptors each";
  EXPECT_LE(pool.stats().workers_lost, wanted - workers + 5) << "attempts to start";
  // Some of those that it counts as missing may still be starting.
  EXPECT_NE(told.find(" of 100 workers run, and there is no room for more"), told.npos)
    << told;
  EXPECT_NE(told.find("the hard limit is 200, raise with ulimit -Hn"), told.npos) << told;
  EXPECT_LE(std::ranges::count(told, '\n'), 3) << told;
}

} // namespace
} // namespace fiber::e2e
