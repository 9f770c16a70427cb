// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

namespace fiber {

/// As Python's multiprocessing.Event: a flag that any process sets, and that others wait
/// for. Made by Manager::event(), not set at first; lives, ends and throws Closed as a
/// Lock does (fiber/lock.hpp).
///
/// Thread safety: any thread of any process may call any member function.
class Event final : public detail::SyncValue<Event, detail::SyncKind::event> {
public:
  /// Wakes all who wait; from now on nobody does.
  void set() { handle_.call(detail::SyncOp::set); }
  void clear() { handle_.call(detail::SyncOp::clear); }
  bool is_set() { return handle_.call(detail::SyncOp::is_set) != 0; }
  /// Returns when it is set.
  void wait() { handle_.wait(detail::Results::forever); }
  /// False if it is not within `d`.
  template <class Rep, class Period>
  bool wait(std::chrono::duration<Rep, Period> d) {
    return handle_.wait(detail::limit_of(d)).has_value();
  }

private:
  using SyncValue::SyncValue;
};

} // namespace fiber
