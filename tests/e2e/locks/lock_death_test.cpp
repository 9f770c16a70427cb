// SPDX-License-Identifier: Apache-2.0
// The promise: what a process holds that dies goes to the next one; a waiter that dies
// takes nothing along; and whoever waits for what has ended is told so.
#include <csignal>
#include <fstream>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/locks/any_lock.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using fiber::Process; // Not that of processes.hpp.

/// With processes that can be killed.
class LockOfJobs : public EveryMode {
protected:
  /// Starts a process that runs `f`, which notes its pid in "holds" or "waits".
  template <class F, class... Args>
  static pid_t start(const std::string& list, F f, Args... args) {
    auto before = notes(list).size();
    Process process({.daemon = true}, f, args...);
    process.start();
    auto pid = static_cast<pid_t>(noted(list, before));
    if (pid <= 0) // Which kill() would take for all there are.
      throw std::runtime_error("it has not come up");
    return pid;
  }
  static void note_pid(const std::string& list) { note(list, std::to_string(getpid())); }

  template <class L>
  static pid_t start_holder(L lock) {
    return start(
      "holds",
      [](L lock) {
        acquire(lock);
        note_and_wait("holds");
      },
      lock);
  }
  template <class L>
  static pid_t start_waiter(L lock) {
    return start(
      "waits",
      [](L lock) {
        note_pid("waits");
        acquire(lock);
        note_and_wait("got");
      },
      lock);
  }

  template <class L>
  void goes_on_when_its_holder_is_killed() {
    auto lock = open_one<L>();
    auto holder = start_holder(lock);
    auto waiter = async(
      [](L lock) {
        note_pid("waits");
        acquire(lock);
        release(lock);
        return true;
      },
      lock);
    await_note("waits");
    EXPECT_FALSE(acquire_within(lock, 20ms));
    kill(holder, SIGKILL);
    EXPECT_TRUE(acquire_within(lock, deadline));
    release(lock);
    EXPECT_TRUE(waiter.get());
  }

  template <class L>
  void forgets_a_waiter_that_is_killed() {
    auto lock = open_one<L>();
    acquire(lock);
    auto waiter = start_waiter(lock);
    kill(waiter, SIGKILL);
    ASSERT_TRUE(wait_until([&] { return !lives(waiter); }));
    release(lock);
    EXPECT_TRUE(acquire_within(lock, deadline));
    release(lock);
  }

  /// Stopped, it can't take what it is given, but that is its own.
  template <class L>
  void comes_back_from_a_waiter_that_is_killed_before_it_knows() {
    auto lock = open_one<L>();
    acquire(lock);
    auto waiter = start_waiter(lock);
    kill(waiter, SIGSTOP);
    ASSERT_TRUE(wait_until([&] { return is_stopped(waiter); }));
    release(lock);
    acquire_within(lock, 20ms); // Unless its request had not left it.
    kill(waiter, SIGKILL);
    EXPECT_TRUE(acquire_within(lock, deadline));
  }
};

TEST_P(LockOfJobs, goes_on_when_its_holder_is_killed) {
  goes_on_when_its_holder_is_killed<Lock>();
  goes_on_when_its_holder_is_killed<RLock>();
  goes_on_when_its_holder_is_killed<Semaphore>();
  goes_on_when_its_holder_is_killed<BoundedSemaphore>();
  goes_on_when_its_holder_is_killed<Condition>();
}

TEST_P(LockOfJobs, forgets_a_waiter_that_is_killed) {
  forgets_a_waiter_that_is_killed<Lock>();
  forgets_a_waiter_that_is_killed<RLock>();
  forgets_a_waiter_that_is_killed<Semaphore>();
  forgets_a_waiter_that_is_killed<Condition>();
}

TEST_P(LockOfJobs, comes_back_from_a_waiter_that_is_killed_before_it_knows) {
  comes_back_from_a_waiter_that_is_killed_before_it_knows<RLock>();
  comes_back_from_a_waiter_that_is_killed_before_it_knows<Condition>();
}

TEST_P(LockOfJobs, is_released_by_a_process_that_ends) {
  Lock lock;
  Process process([](Lock lock) { lock.lock(); }, lock);
  process.start();
  process.join();
  EXPECT_TRUE(lock.try_lock_for(deadline));
}

std::size_t die_once_with(const std::string& path, Lock lock, std::size_t i) {
  std::unique_lock guard(lock);
  if (i == 7 && this_task::attempt() == 1)
    kill(getpid(), SIGKILL);
  long count = 0;
  std::ifstream(path) >> count;
  std::ofstream(path) << count + 1;
  return f(i);
}

TEST_P(LockOfJobs, is_released_by_a_task_whose_worker_dies_with_it) {
  Lock lock;
  Pool pool(3);
  auto path = (folder() / "count").string();
  EXPECT_EQ(pool.map(fiber::bind(die_once_with, path, lock), indices(30)),
            undisturbed(30));
  EXPECT_GE(pool.stats().workers_lost, 1U);
  long count = 0;
  std::ifstream(path) >> count;
  EXPECT_GE(count, 30); // More if a result was lost with the worker.
  EXPECT_TRUE(lock.try_lock_for(deadline));
}

TEST_P(LockOfJobs, has_back_all_permits_of_a_process_that_is_killed) {
  Semaphore semaphore(3);
  auto holder = start(
    "holds",
    [](Semaphore semaphore) {
      for (int i = 0; i < 3; ++i)
        semaphore.acquire();
      note_and_wait("holds");
    },
    semaphore);
  EXPECT_FALSE(semaphore.try_acquire());
  kill(holder, SIGKILL);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(semaphore.acquire(deadline));
  EXPECT_FALSE(semaphore.try_acquire());
}

TEST_P(LockOfJobs, notifies_another_one_than_who_was_killed) {
  Condition changed;
  auto wait_in_it = [](Condition changed, bool live) {
    std::lock_guard guard(changed);
    note_pid(live ? "lives" : "dies");
    changed.wait();
    note("woken", live ? "1" : "0");
  };
  auto victim = start("dies", wait_in_it, changed, false);
  std::unique_lock(changed).unlock(); // Now it waits.
  start("lives", wait_in_it, changed, true);
  std::unique_lock(changed).unlock();
  kill(victim, SIGKILL);
  ASSERT_TRUE(wait_until([&] { return !lives(victim); }));
  {
    std::lock_guard guard(changed);
    changed.notify_one(); // Also if its end is not known here yet.
  }
  EXPECT_EQ(noted("woken"), 1);
}

TEST_P(LockOfJobs, breaks_a_barrier_when_a_party_is_killed_that_waits) {
  Barrier barrier(3);
  auto arrive = [](Barrier barrier) {
    note_pid("waits");
    return what_of([&] { barrier.wait(); });
  };
  auto other = async(arrive, barrier);
  await_note("waits");
  auto victim = start("waits", arrive, barrier);
  ASSERT_TRUE(wait_until([&] { return barrier.n_waiting() == 2; }));
  kill(victim, SIGKILL);
  auto why = "the barrier is broken: process " + std::to_string(victim) +
             " has ended while it waited";
  EXPECT_EQ(other.get(), why);
  EXPECT_EQ(what_of([&] { barrier.wait(); }), why);
  barrier.reset();
  EXPECT_FALSE(barrier.broken());
}

TEST_P(LockOfJobs, wakes_everybody_when_its_home_is_killed) {
  SimpleQueue<Lock> way;
  auto home = start(
    "home",
    [](SimpleQueue<Lock> out) {
      Lock mine;
      mine.lock();
      out.put(mine);
      note_and_wait("home");
    },
    way);
  auto lock = way.get();
  auto waiter = async(
    [](Lock lock) {
      note_pid("waits");
      try {
        std::lock_guard guard(lock);
      } catch (const Closed&) {
        return true;
      }
      return false;
    },
    lock);
  await_note("waits");
  std::thread killer([&] {
    EXPECT_FALSE(lock.try_lock_for(10ms));
    kill(home, SIGKILL);
  });
  EXPECT_THROW(lock.lock(), Closed);
  killer.join();
  EXPECT_TRUE(waiter.get());
  lock.unlock();
}

/// Of several threads of several processes none is left out.
TEST_P(LockOfJobs, serves_all_threads_of_all_processes) {
  RLock lock;
  auto path = (folder() / "count").string();
  auto work = [](std::string path, RLock lock) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) {
          std::lock_guard guard(lock);
          count_up(path, lock, 1);
        }
      });
    for (auto& thread : threads)
      thread.join();
  };
  auto first = async(work, path, lock), second = async(work, path, lock);
  first.get();
  second.get();
  long count = 0;
  std::ifstream(path) >> count;
  EXPECT_EQ(count, 80);
}

INSTANTIATE_TEST_SUITE_P(Modes, LockOfJobs,
                         testing::ValuesIn(std::vector<Mode>{{"local", {}},
                                                             {"tls", {.link = "tls"}}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
