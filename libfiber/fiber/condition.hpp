// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "fiber/detail/lockable.hpp"

namespace fiber {

/// A lock, and a place to wait for a notification, as Python's multiprocessing.Condition.
/// The lock belongs to the condition, and is recursive as an RLock. Lives and ends as a
/// Lock does, and then throws Closed (fiber/lock.hpp).
///
///     std::lock_guard guard(changed);
///     changed.wait([&] { return total.get() > 10; });
///
/// wait() and notify() throw Error in a thread that does not hold the lock. Like any
/// condition it may wake a thread without need, so check what you wait for: if a process
/// dies that was notified and has not released the lock since, the next one is notified.
///
/// Thread safety: any thread of any process may call any member function.
class Condition final
  : public detail::LockableValue<Condition, detail::SyncKind::condition> {
public:
  /// A new condition whose lock no thread holds, and whose home is this process. Throws
  /// Closed without a session.
  Condition() : LockableValue(0) {}

  /// Releases the lock, however often this thread has locked it, and blocks until it is
  /// notified. Returns when this thread has the lock again, locked as often.
  void wait() { handle_.wait(detail::Results::forever); }
  /// The same, but waits for a notification for at most `d`; returns whether there was
  /// one. It has the lock again in either case, and may have to wait longer for that.
  template <class Rep, class Period>
  bool wait(std::chrono::duration<Rep, Period> d) {
    return handle_.wait(detail::limit_of(d)).value_or(0) != 0;
  }
  /// Blocks until fulfilled() returns true. It is called while this thread holds the
  /// lock.
  template <std::predicate Predicate>
  void wait(Predicate fulfilled) {
    while (!fulfilled())
      wait();
  }
  /// The same for at most `d`; returns the last result of fulfilled().
  template <class Rep, class Period, std::predicate Predicate>
  bool wait(std::chrono::duration<Rep, Period> d, Predicate fulfilled) {
    auto limit = detail::limit_of(d);
    for (auto in_time = true; !fulfilled();
         in_time = handle_.wait(limit).value_or(0) != 0)
      if (!in_time)
        return false;
    return true;
  }
  /// Wakes the thread that has waited longest. It continues when this thread has released
  /// the lock.
  void notify_one() { notify(1); }
  /// Wakes the `n` threads that have waited longest, one after the other.
  void notify(std::size_t n) { handle_.call(detail::SyncOp::notify, n); }
  /// Wakes every waiting thread, one after the other.
  void notify_all() { notify(SIZE_MAX); }

private:
  using LockableValue::LockableValue;
};

} // namespace fiber
