// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

namespace fiber {

/// A flag that one process sets and others wait for, as Python's multiprocessing.Event.
/// Lives and ends as a Lock does, and then throws Closed (fiber/lock.hpp).
///
/// Thread safety: any thread of any process may call any member function.
class Event final : public detail::SyncValue<Event, detail::SyncKind::event> {
public:
  /// A new event, not set, whose home is this process. Throws Closed without a session.
  Event() : SyncValue(0) {}

  /// Sets the flag: wakes every waiting thread, and wait() returns at once from now on.
  void set() { handle_.call(detail::SyncOp::set); }
  /// Clears the flag, so that wait() blocks again.
  void clear() { handle_.call(detail::SyncOp::clear); }
  /// Whether the flag is set now.
  bool is_set() { return handle_.call(detail::SyncOp::is_set) != 0; }
  /// Blocks until the flag is set.
  void wait() { handle_.wait(detail::Results::forever); }
  /// The same for at most `d`; returns whether the flag was set.
  template <class Rep, class Period>
  bool wait(std::chrono::duration<Rep, Period> d) {
    return handle_.wait(detail::limit_of(d)).has_value();
  }

private:
  using SyncValue::SyncValue;
};

} // namespace fiber
