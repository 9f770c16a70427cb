// SPDX-License-Identifier: Apache-2.0
// The promise: locks, semaphores, events, conditions and barriers work between any
// processes as Python's do, and nobody waits for what can't come.
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/locks/any_lock.hpp"
#include "tests/e2e/support/memory.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

class EveryLock : public EveryMode {
protected:
  template <class L>
  void excludes_others() {
    auto lock = open_one<L>();
    auto path = (folder() / "count").string();
    std::vector<Future<void>> tasks;
    for (int i = 0; i < 3; ++i)
      tasks.push_back(async(count_up<L>, path, lock, 20));
    count_up(path, lock, 20);
    for (auto& task : tasks)
      task.get();
    long count = 0;
    std::ifstream(path) >> count;
    EXPECT_EQ(count, 80);
    std::filesystem::remove(path);
  }

  template <class L>
  void waits_no_longer() {
    auto lock = open_one<L>();
    acquire(lock);
    // In another thread, as some are recursive.
    auto try_it = [lock](std::chrono::milliseconds d) mutable {
      auto got = false;
      std::thread([&] {
        got = acquire_within(lock, d);
        if (got)
          release(lock);
      }).join();
      return got;
    };
    EXPECT_FALSE(try_it(0ms));
    EXPECT_FALSE(try_it(20ms));
    release(lock);
    EXPECT_TRUE(try_it(0ms));
    EXPECT_TRUE(try_it(deadline)); // Nobody who gave up has it.
  }
};

TEST_P(EveryLock, excludes_others) {
  excludes_others<Lock>();
  excludes_others<RLock>();
  excludes_others<Semaphore>();
  excludes_others<BoundedSemaphore>();
  excludes_others<Condition>();
}

TEST_P(EveryLock, waits_no_longer_than_it_is_told) {
  waits_no_longer<Lock>();
  waits_no_longer<RLock>();
  waits_no_longer<Semaphore>();
  waits_no_longer<BoundedSemaphore>();
  waits_no_longer<Condition>();
}

TEST_P(EveryLock, works_with_the_guards_of_the_standard_library) {
  Lock lock;
  RLock rlock;
  Condition condition;
  {
    std::lock_guard guard(lock);
    EXPECT_FALSE(lock.try_lock());
  }
  {
    std::scoped_lock guard(lock, rlock, condition);
    EXPECT_FALSE(lock.try_lock());
  }
  std::unique_lock guard(lock, 20ms);
  EXPECT_TRUE(guard.owns_lock());
  std::unique_lock other(lock, std::chrono::system_clock::now() + 20ms);
  EXPECT_FALSE(other.owns_lock());
  guard.unlock();
  EXPECT_TRUE(other.try_lock_until(std::chrono::steady_clock::now() + deadline));
}

TEST_P(EveryLock, is_unlocked_by_those_alone_who_may) {
  Lock lock;
  EXPECT_THROW(lock.unlock(), Error);
  lock.lock();
  async([](Lock lock) { lock.unlock(); }, lock).get(); // As Python's.
  EXPECT_THROW(lock.unlock(), Error);

  RLock rlock;
  EXPECT_THROW(rlock.unlock(), Error);
  std::lock_guard twice(rlock);
  std::lock_guard again(rlock);
  std::thread([&] {
    EXPECT_FALSE(rlock.try_lock());
    EXPECT_THROW(rlock.unlock(), Error);
  }).join();
  if (!in_process()) {
    auto text = async([](RLock lock) { return what_of([&] { lock.unlock(); }); }, rlock);
    EXPECT_EQ(text.get().find("unlock() of an RLock that is held by thread " +
                              std::to_string(gettid()) + " of process " +
                              std::to_string(getpid()) + ", the driver"),
              0U);
  }
}

TEST_P(EveryLock, travels_in_containers_in_results_and_through_queues) {
  std::vector<Lock> locks{Lock(), Lock()};
  Pool pool(1);
  auto same = pool.apply(
    [](std::vector<Lock> locks) {
      locks[1].lock();
      return locks[1];
    },
    locks);
  EXPECT_EQ(same, locks[1]);
  EXPECT_NE(same, locks[0]);
  EXPECT_TRUE(locks[0].try_lock());
  EXPECT_FALSE(locks[1].try_lock());
  SimpleQueue<Event> events;
  Event event;
  events.put(event);
  pool.apply([](SimpleQueue<Event> events) { events.get().set(); }, events);
  EXPECT_TRUE(event.is_set());
  Barrier barrier(7);
  EXPECT_EQ(pool.apply([](Barrier barrier) { return barrier.parties(); }, barrier), 7U);
}

TEST_P(EveryLock, is_made_without_a_job) {
  Lock lock;
  RLock rlock;
  Semaphore semaphore(1);
  BoundedSemaphore bounded(1);
  Event event;
  Condition condition;
  Barrier barrier(1);
  std::scoped_lock all(lock, rlock, condition);
  semaphore.acquire();
  bounded.acquire();
  event.set();
  EXPECT_EQ(barrier.wait(), 0U);
  EXPECT_EQ(jobs(mark()), std::vector<pid_t>());
  EXPECT_TRUE(active_children().empty());
}

TEST_P(EveryLock, outlives_the_manager_that_made_it) {
  auto lock = Manager().lock();
  EXPECT_TRUE(lock.try_lock());
}

TEST_P(EveryLock, is_shared_by_the_tasks_of_a_pool) {
  Lock lock;
  auto path = (folder() / "count").string();
  Pool pool(3);
  pool.map(fiber::bind([](const std::string& path, Lock lock,
                          int times) { count_up(path, lock, times); },
                       path, lock),
           std::vector<int>(20, 2));
  long count = 0;
  std::ifstream(path) >> count;
  EXPECT_EQ(count, 40);
  EXPECT_TRUE(lock.try_lock());
}

TEST_P(EveryLock, lives_in_the_job_that_made_it) {
  Pool pool(1);
  auto lock = pool.apply([] {
    Lock made;
    made.lock();
    return made;
  });
  EXPECT_FALSE(lock.try_lock());
  pool.apply([](Lock lock) { lock.unlock(); }, lock);
  EXPECT_TRUE(lock.try_lock());
}

TEST_P(EveryLock, outlives_its_session_as_a_handle) {
  Lock lock;
  RLock rlock;
  Semaphore semaphore(1);
  Event event;
  Condition condition;
  Barrier barrier(2);
  lock.lock();
  close();
  lock.unlock(); // A guard's destructor must be able to.
  EXPECT_THROW(lock.lock(), Closed);
  EXPECT_THROW(lock.try_lock(), Closed);
  EXPECT_THROW(lock.try_lock_for(1s), Closed);
  EXPECT_THROW(rlock.lock(), Closed);
  EXPECT_THROW(semaphore.acquire(), Closed);
  EXPECT_THROW(semaphore.release(), Closed);
  EXPECT_THROW(event.set(), Closed);
  EXPECT_THROW(event.wait(1s), Closed);
  EXPECT_THROW(condition.wait(), Closed);
  EXPECT_THROW(condition.notify_one(), Closed);
  EXPECT_THROW(barrier.wait(), Closed);
  EXPECT_EQ(barrier.parties(), 2U);
  EXPECT_THROW(Lock(), Closed);
}

TEST_P(EveryLock, wakes_those_who_wait_when_the_session_ends) {
  Lock lock;
  Condition changed;
  lock.lock();
  std::thread locks([&] { EXPECT_THROW(lock.lock(), Closed); });
  std::thread waits([&] {
    try {
      std::lock_guard guard(changed); // Which unlocks nothing in the end.
      changed.wait();
      ADD_FAILURE() << "nobody has notified it";
    } catch (const Closed&) {
    }
  });
  EXPECT_FALSE(lock.try_lock_for(20ms));
  close();
  locks.join();
  waits.join();
}

TEST_P(EveryLock, of_another_session_is_refused) {
  Lock lock;
  close();
  open({.backend = "inline"});
  Pool pool(1);
  EXPECT_THROW(pool.apply([](Lock lock) { lock.lock(); }, lock), Closed);
}

TEST_P(EveryLock, leaves_nothing_behind) {
  auto before = allocated_bytes();
  for (int i = 0; i < 10000; ++i) {
    Lock lock;
    if (i % 10 == 0)
      lock.lock();
  }
  EXPECT_TRUE(wait_until([&] { return allocated_bytes() < before + 2'000'000; }));
  Pool pool(1);
  std::vector<Lock> locks;
  for (int i = 0; i < 100; ++i)
    locks.push_back(Lock());
  pool.map([](Lock lock) { std::lock_guard guard(lock); }, locks);
}

class EverySemaphore : public EveryMode {};

TEST_P(EverySemaphore, gives_so_many_permits) {
  Semaphore semaphore(2);
  EXPECT_TRUE(semaphore.try_acquire());
  semaphore.acquire();
  EXPECT_FALSE(semaphore.try_acquire());
  EXPECT_FALSE(semaphore.try_acquire_for(1ms));
  semaphore.release(3);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(semaphore.acquire(deadline));
  EXPECT_THROW(semaphore.release(0), Error);
}

TEST_P(EverySemaphore, is_bounded_if_it_is_to_be) {
  BoundedSemaphore semaphore(2);
  EXPECT_THROW(semaphore.release(), Error);
  semaphore.acquire();
  EXPECT_THROW(semaphore.release(2), Error);
  semaphore.release();
}

class EveryEvent : public EveryMode {};

TEST_P(EveryEvent, wakes_those_who_wait) {
  Event event;
  EXPECT_FALSE(event.is_set());
  EXPECT_FALSE(event.wait(0ms));
  EXPECT_FALSE(event.wait(20ms));
  auto task = async([](Event event) { event.set(); }, event);
  event.wait();
  EXPECT_TRUE(event.wait(0ms));
  event.clear();
  EXPECT_FALSE(event.is_set());
  task.get();
}

class EveryCondition : public EveryMode {};

TEST_P(EveryCondition, waits_for_what_another_one_changes) {
  Condition changed;
  SimpleQueue<int> state;
  auto task = async(
    [](Condition changed, SimpleQueue<int> state) {
      for (int i = 0; i < 3; ++i) {
        std::lock_guard guard(changed);
        state.put(i);
        changed.notify_all();
      }
    },
    changed, state);
  std::unique_lock guard(changed);
  auto seen = 0;
  changed.wait([&] {
    while (state.get(0ms))
      ++seen;
    return seen == 3;
  });
  EXPECT_EQ(seen, 3);
  guard.unlock();
  task.get();
}

TEST_P(EveryCondition, has_the_lock_when_it_returns) {
  Condition changed;
  changed.lock();
  changed.lock();
  EXPECT_FALSE(changed.wait(0ms));
  EXPECT_FALSE(changed.wait(20ms));
  EXPECT_FALSE(changed.wait(20ms, [] { return false; }));
  EXPECT_TRUE(changed.wait(20ms, [] { return true; }));
  std::thread([&] { EXPECT_FALSE(changed.try_lock()); }).join();
  changed.unlock();
  std::thread([&] { EXPECT_FALSE(changed.try_lock()); }).join();
  changed.unlock();
  EXPECT_THROW(changed.unlock(), Error);
}

TEST_P(EveryCondition, is_for_those_alone_who_have_the_lock) {
  Condition changed;
  EXPECT_THROW(changed.wait(), Error);
  EXPECT_THROW(changed.wait(1s), Error);
  EXPECT_THROW(changed.notify_one(), Error);
  EXPECT_THROW(changed.notify_all(), Error);
}

class EveryBarrier : public EveryMode {};

TEST_P(EveryBarrier, lets_all_go_when_all_have_come) {
  Barrier barrier(3);
  auto rounds = in_process() ? 1 : 3; // There who has come last goes on first.
  auto arrive = [](Barrier barrier, int rounds) {
    std::vector<std::size_t> indices;
    for (int i = 0; i < rounds; ++i)
      indices.push_back(barrier.wait());
    return indices;
  };
  auto first = async(arrive, barrier, rounds), second = async(arrive, barrier, rounds);
  auto own = arrive(barrier, rounds), a = first.get(), b = second.get();
  for (std::size_t i = 0; i < own.size(); ++i)
    EXPECT_EQ(std::set({own[i], a[i], b[i]}), std::set<std::size_t>({0, 1, 2}));
  EXPECT_EQ(barrier.n_waiting(), 0U);
}

TEST_P(EveryBarrier, breaks_when_somebody_gives_up) {
  Barrier barrier(2);
  EXPECT_EQ(barrier.wait(20ms), std::nullopt);
  EXPECT_TRUE(barrier.broken());
  EXPECT_EQ(what_of([&] { barrier.wait(); }),
            "the barrier is broken: one of its parties has given up waiting");
  barrier.reset();
  EXPECT_FALSE(barrier.broken());
  barrier.abort();
  EXPECT_EQ(what_of([&] { barrier.wait(1s); }),
            "the barrier is broken: abort() was called");
  EXPECT_THROW(Barrier(0), ConfigError);
  EXPECT_EQ(Barrier(1).wait(), 0U);
}

class LockWithoutSession : public SessionTest {};

TEST_F(LockWithoutSession, cannot_be_made_as_a_queue_cannot) {
  auto why = what_of([] { Queue<int>(1); });
  EXPECT_NE(why.find("there is no session; call fiber::init first"), std::string::npos);
  EXPECT_EQ(what_of([] { Lock(); }), why);
  EXPECT_EQ(what_of([] { RLock(); }), why);
  EXPECT_EQ(what_of([] { Semaphore(1); }), why);
  EXPECT_EQ(what_of([] { BoundedSemaphore(1); }), why);
  EXPECT_EQ(what_of([] { Event(); }), why);
  EXPECT_EQ(what_of([] { Condition(); }), why);
  EXPECT_EQ(what_of([] { Barrier(1); }), why);
}

class InlineLock : public SessionTest {};

TEST_F(InlineLock, does_not_wait_for_what_could_never_come) {
  open({.backend = "inline"});
  Lock lock;
  lock.lock();
  EXPECT_THROW(lock.lock(), Error);
  EXPECT_THROW(async([](Lock lock) { lock.lock(); }, lock).get(), RemoteError);
  lock.unlock(); // Neither of them has it.
  EXPECT_TRUE(lock.try_lock());
  EXPECT_THROW(Event().wait(), Error);
  Barrier barrier(2);
  EXPECT_THROW(barrier.wait(), Error);
  EXPECT_TRUE(barrier.broken());
}

TEST_F(InlineLock, leaves_a_condition_locked_that_nobody_could_notify) {
  open({.backend = "inline"});
  Condition changed;
  changed.lock();
  EXPECT_THROW(changed.wait(), Error);
  changed.unlock();
  // A task that leaves it locked has the same thread.
  auto task = async([](Condition changed) { changed.lock(); }, changed);
  changed.lock();
  EXPECT_THROW(changed.wait(), Error);
  changed.unlock();
  changed.unlock();
  EXPECT_THROW(changed.unlock(), Error);
  task.get();
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryLock, testing::ValuesIn(modes()), mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, EverySemaphore, testing::ValuesIn(modes()), mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, EveryEvent, testing::ValuesIn(modes()), mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, EveryCondition, testing::ValuesIn(modes()), mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, EveryBarrier, testing::ValuesIn(modes()), mode_name);
} // namespace
} // namespace fiber::e2e
