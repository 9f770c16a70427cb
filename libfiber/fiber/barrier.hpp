// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

namespace fiber {

/// As Python's multiprocessing.Barrier: `n` parties wait until all of them do, again and
/// again. Made by Manager::barrier(n), 1 or more; lives, ends and throws Closed as a Lock
/// does (fiber/lock.hpp).
///
/// It breaks if one that waits gives up: by its time limit, by the death of its process,
/// or by abort(). Then all who wait, and who come until reset(), get an Error that says
/// so and why.
///
/// Thread safety: any thread of any process may call any member function.
class Barrier final : public detail::SyncValue<Barrier, detail::SyncKind::barrier> {
public:
  /// Waits for the other parties. Returns how many had come before this one, 0 to n - 1,
  /// so that one of them may do what is to be done once.
  std::size_t wait() {
    return static_cast<std::size_t>(handle_.wait(detail::Results::forever).value());
  }
  /// Nothing if they have not come within `d`: then the barrier is broken.
  template <class Rep, class Period>
  std::optional<std::size_t> wait(std::chrono::duration<Rep, Period> d) {
    auto index = handle_.wait(detail::limit_of(d));
    return index ? std::optional(static_cast<std::size_t>(*index)) : std::nullopt;
  }
  std::size_t parties() const { return static_cast<std::size_t>(handle_.n()); }
  /// How many wait now.
  std::size_t n_waiting() {
    return static_cast<std::size_t>(handle_.call(detail::SyncOp::count_waiting));
  }
  /// Breaks it.
  void abort() { handle_.call(detail::SyncOp::abort); }
  /// As new. Who waits gets the Error.
  void reset() { handle_.call(detail::SyncOp::reset); }
  bool broken() { return handle_.call(detail::SyncOp::is_broken) != 0; }

private:
  using SyncValue::SyncValue;
};

} // namespace fiber
