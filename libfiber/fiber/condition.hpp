// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "fiber/detail/lockable.hpp"

namespace fiber {

/// As Python's multiprocessing.Condition: a lock, and a place to wait until somebody who
/// had the lock meanwhile says that something has changed. Made by Manager::condition();
/// lives, ends and throws Closed as a Lock does (fiber/lock.hpp). The lock is its own and
/// recursive as an RLock.
///
///     std::lock_guard guard(changed);
///     changed.wait([&] { return total.get() > 10; });
///
/// To wait or to notify without having the lock throws Error. As any condition it may
/// wake one who was not meant, so look again at what was waited for: if a process dies
/// that was notified and has not let go of the lock since, the next one is notified.
///
/// Thread safety: any thread of any process may call any member function.
class Condition final
  : public detail::LockableValue<Condition, detail::SyncKind::condition> {
public:
  /// Lets go of the lock, however often this thread has locked it, waits to be notified,
  /// and returns when it has the lock again, as often.
  void wait() { handle_.wait(detail::Results::forever); }
  /// False if nobody has notified it within `d`. It has the lock again in any case, for
  /// which it may have to wait longer.
  template <class Rep, class Period>
  bool wait(std::chrono::duration<Rep, Period> d) {
    return handle_.wait(detail::limit_of(d)).value_or(0) != 0;
  }
  /// Waits until `fulfilled()`, which is called with the lock.
  template <std::predicate Predicate>
  void wait(Predicate fulfilled) {
    while (!fulfilled())
      wait();
  }
  /// The same for at most `d`: whether it is fulfilled in the end.
  template <class Rep, class Period, std::predicate Predicate>
  bool wait(std::chrono::duration<Rep, Period> d, Predicate fulfilled) {
    auto limit = detail::limit_of(d);
    for (auto in_time = true; !fulfilled();
         in_time = handle_.wait(limit).value_or(0) != 0)
      if (!in_time)
        return false;
    return true;
  }
  /// Wakes one who waits, the first one, or so many. They go on one after the other when
  /// this thread has unlocked.
  void notify_one() { notify(1); }
  void notify(std::size_t n) { handle_.call(detail::SyncOp::notify, n); }
  void notify_all() { notify(SIZE_MAX); }

private:
  using LockableValue::LockableValue;
};

} // namespace fiber
