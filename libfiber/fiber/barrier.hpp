// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "fiber/detail/sync_handle.hpp"
#include "fiber/future.hpp"

namespace fiber {

/// A place where `n` parties wait until all of them have come, again and again, as
/// Python's multiprocessing.Barrier. Lives and ends as a Lock does, and then throws
/// Closed (fiber/lock.hpp).
///
/// The barrier breaks if a waiting party gives up: by its time limit, by the death of its
/// process, or by abort(). All parties that wait, and those that come before reset(),
/// then get an Error that says so and why.
///
/// Thread safety: any thread of any process may call any member function.
class Barrier final : public detail::SyncValue<Barrier, detail::SyncKind::barrier> {
public:
  /// A new barrier of `n` parties, whose home is this process. Throws ConfigError if `n`
  /// is 0, Closed without a session.
  explicit Barrier(std::size_t n) : SyncValue(n) {}

  /// Blocks until all parties have come. Returns how many came before this one, 0 to n -
  /// 1, so that one of them can do what is to be done once.
  std::size_t wait() {
    return static_cast<std::size_t>(handle_.wait(detail::Results::forever).value());
  }
  /// The same for at most `d`. Nothing if the others have not come: then the barrier is
  /// broken.
  template <class Rep, class Period>
  std::optional<std::size_t> wait(std::chrono::duration<Rep, Period> d) {
    auto index = handle_.wait(detail::limit_of(d));
    return index ? std::optional(static_cast<std::size_t>(*index)) : std::nullopt;
  }
  /// The number of parties, `n`.
  std::size_t parties() const { return static_cast<std::size_t>(handle_.n()); }
  /// How many parties wait now.
  std::size_t n_waiting() {
    return static_cast<std::size_t>(handle_.call(detail::SyncOp::count_waiting));
  }
  /// Breaks the barrier.
  void abort() { handle_.call(detail::SyncOp::abort); }
  /// Makes the barrier as new. Parties that wait get the Error.
  void reset() { handle_.call(detail::SyncOp::reset); }
  /// Whether the barrier is broken.
  bool broken() { return handle_.call(detail::SyncOp::is_broken) != 0; }

private:
  using SyncValue::SyncValue;
};

} // namespace fiber
