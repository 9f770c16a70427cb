// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

// The common part of Lock, RLock and Condition. Programs use their headers.

namespace fiber::detail {

/// A TimedLockable, for std::lock_guard, std::unique_lock and std::scoped_lock. Waiting
/// threads are served in turn.
template <class Derived, SyncKind kind>
class LockableValue : public SyncValue<Derived, kind> {
public:
  /// Blocks until this thread has the lock. Throws Closed if the home of the lock, or the
  /// session, has ended.
  void lock() { this->handle_.acquire(Results::forever); }
  /// Takes the lock if it is free; returns whether this thread has it. Throws as lock().
  bool try_lock() { return this->handle_.call(SyncOp::try_acquire) != 0; }
  /// As lock(), for at most `d`; returns whether this thread has the lock.
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> d) {
    return this->handle_.acquire(limit_of(d));
  }
  /// As lock(), until `at`; returns whether this thread has the lock.
  template <class Clock, class Duration>
  bool try_lock_until(std::chrono::time_point<Clock, Duration> at) {
    // As numbers of seconds, whose difference can't overflow.
    using Seconds = std::chrono::duration<double>;
    return try_lock_for(Seconds(at.time_since_epoch()) -
                        Seconds(Clock::now().time_since_epoch()));
  }
  /// Releases the lock; the next waiting thread gets it. Throws Error if this thread may
  /// not do so: see the class. Never throws Closed, since guards call it in their
  /// destructors: where lock() throws Closed, no thread holds the lock.
  void unlock() { this->handle_.unlock(); }

protected:
  using SyncValue<Derived, kind>::SyncValue;
};

} // namespace fiber::detail
