// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

// Semaphores between processes, made by Manager::semaphore(n) and
// Manager::bounded_semaphore(n). They live, end and throw Closed as a Lock does
// (fiber/lock.hpp). A permit comes back if the process dies that acquired it and has not
// released it. A process that releases more than it has acquired does so for others.
//
// Thread safety: any thread of any process may call any member function.

namespace fiber {
namespace detail {

template <class Derived, SyncKind kind>
class SemaphoreValue : public SyncValue<Derived, kind> {
public:
  /// Waits for a permit; who waits is served in turn.
  void acquire() { this->handle_.acquire(Results::forever); }
  /// The same for at most `d`; true if there was one.
  template <class Rep, class Period>
  bool acquire(std::chrono::duration<Rep, Period> d) {
    return this->handle_.acquire(limit_of(d));
  }
  /// The same without waiting.
  bool try_acquire() { return this->handle_.call(SyncOp::try_acquire) != 0; }
  /// As acquire(d): the name that std::counting_semaphore has for it.
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

/// As Python's multiprocessing.Semaphore: `n` permits, 0 or more. release() adds permits
/// where none are out.
class Semaphore final
  : public detail::SemaphoreValue<Semaphore, detail::SyncKind::semaphore> {
  using SemaphoreValue::SemaphoreValue;
};

/// As Python's multiprocessing.BoundedSemaphore: there are never more than `n` permits,
/// and release() throws Error where that would be so.
class BoundedSemaphore final
  : public detail::SemaphoreValue<BoundedSemaphore, detail::SyncKind::bounded_semaphore> {
  using SemaphoreValue::SemaphoreValue;
};

} // namespace fiber
