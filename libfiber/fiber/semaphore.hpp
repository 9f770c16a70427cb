// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

// Semaphores between processes. They live and end as a Lock does, and then throw Closed
// (fiber/lock.hpp). If a process dies, the permits that it had acquired and not released
// come back. A process that releases more than it has acquired releases for others.
//
// Thread safety: any thread of any process may call any member function.

namespace fiber {
namespace detail {

template <class Derived, SyncKind kind>
class SemaphoreValue : public SyncValue<Derived, kind> {
public:
  /// Blocks until this thread has a permit. Waiting threads are served in turn.
  void acquire() { this->handle_.acquire(Results::forever); }
  /// The same for at most `d`; returns whether it got a permit.
  template <class Rep, class Period>
  bool acquire(std::chrono::duration<Rep, Period> d) {
    return this->handle_.acquire(limit_of(d));
  }
  /// The same without waiting.
  bool try_acquire() { return this->handle_.call(SyncOp::try_acquire) != 0; }
  /// As acquire(d), under the name that std::counting_semaphore has for it.
  template <class Rep, class Period>
  bool try_acquire_for(std::chrono::duration<Rep, Period> d) {
    return acquire(d);
  }
  /// Gives `n` permits back. Throws Error if `n` is 0, or more than the class allows.
  void release(std::size_t n = 1) { this->handle_.call(SyncOp::release, n); }

protected:
  using SyncValue<Derived, kind>::SyncValue;
};

} // namespace detail

/// A semaphore as Python's multiprocessing.Semaphore. release() may raise the number of
/// permits.
class Semaphore final
  : public detail::SemaphoreValue<Semaphore, detail::SyncKind::semaphore> {
public:
  /// A new semaphore with `n` permits, 0 or more, whose home is this process. Throws
  /// Closed without a session.
  explicit Semaphore(std::size_t n) : SemaphoreValue(n) {}

private:
  using SemaphoreValue::SemaphoreValue;
};

/// A semaphore as Python's multiprocessing.BoundedSemaphore, which never has more than
/// its first number of permits: release() beyond that throws Error.
class BoundedSemaphore final
  : public detail::SemaphoreValue<BoundedSemaphore, detail::SyncKind::bounded_semaphore> {
public:
  /// A new semaphore with `n` permits, whose home is this process. Throws Closed without
  /// a session.
  explicit BoundedSemaphore(std::size_t n) : SemaphoreValue(n) {}

private:
  using SemaphoreValue::SemaphoreValue;
};

} // namespace fiber
