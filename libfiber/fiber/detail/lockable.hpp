// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

// The locking functions of Lock, RLock and Condition. Programs use their headers.

namespace fiber::detail {

/// Meets TimedLockable, so that std::lock_guard, std::unique_lock and std::scoped_lock
/// work. Waiters are served in order.
template <class Derived, SyncKind kind>
class LockableValue : public SyncValue<Derived, kind> {
public:
  /// Waits until this thread holds the lock. Throws Closed if the home, the process that
  /// it lives in, or the session has ended.
  void lock() { this->handle_.acquire(Results::forever); }
  /// Does not wait. Returns whether this thread now holds the lock.
  bool try_lock() { return this->handle_.call(SyncOp::try_acquire) != 0; }
  /// Waits for at most `d`. Returns whether this thread now holds the lock.
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> d) {
    return this->handle_.acquire(limit_of(d));
  }
  /// Waits until `at`. Returns whether this thread now holds the lock.
  template <class Clock, class Duration>
  bool try_lock_until(std::chrono::time_point<Clock, Duration> at) {
    return try_lock_for(at - Clock::now());
  }
  /// Passes the lock to the next waiter. Throws Error if this thread may not release it:
  /// see the class. Does not throw Closed, because guards call it in destructors; when
  /// the home has ended, nobody holds the lock.
  void unlock() { this->handle_.unlock(); }

protected:
  using SyncValue<Derived, kind>::SyncValue;
};

} // namespace fiber::detail
