// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

// How Lock, RLock and Condition are locked; theirs are the names to use.

namespace fiber::detail {

/// TimedLockable, so that std::lock_guard, std::unique_lock and std::scoped_lock work.
/// Who waits is served in turn.
template <class Derived, SyncKind kind>
class LockableValue : public SyncValue<Derived, kind> {
public:
  /// Waits until it is this thread's. Throws Closed if the process that it lives in, or
  /// the session, has ended.
  void lock() { this->handle_.acquire(Results::forever); }
  /// The same without waiting; true if this thread has it.
  bool try_lock() { return this->handle_.call(SyncOp::try_acquire) != 0; }
  /// The same for at most `d`.
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> d) {
    return this->handle_.acquire(limit_of(d));
  }
  /// The same until `at`.
  template <class Clock, class Duration>
  bool try_lock_until(std::chrono::time_point<Clock, Duration> at) {
    return try_lock_for(at - Clock::now());
  }
  /// Lets the next one have it. Throws Error if that is not for this thread to do: see
  /// the class. Does not throw Closed, as guards call it in their destructors: where
  /// lock() throws that, nobody holds anything.
  void unlock() { this->handle_.unlock(); }

protected:
  using SyncValue<Derived, kind>::SyncValue;
};

} // namespace fiber::detail
