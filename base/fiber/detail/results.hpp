// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fiber/bytes.hpp"

namespace fiber::detail {

template <class R>
struct VectorOf {
  using type = std::vector<R>;
};
template <>
struct VectorOf<void> {
  using type = void;
};
/// The results of several tasks: std::vector<R>, or void if `R` is void.
template <class R>
using vector_of_t = typename VectorOf<R>::type;

class WaitPoint;

/// How a task ended: its packed result, or the error.
struct RawOutcome {
  Payload value;
  std::exception_ptr error;
};

/// The results of one call as they arrive. Shared by the pool, which delivers them, and
/// by everyone who waits.
///
/// Thread safety: any thread may call any member function.
class Results {
public:
  using Clock = std::chrono::steady_clock;
  /// No limit.
  static constexpr Clock::time_point forever = Clock::time_point::max();

  virtual ~Results() = default;
  /// How many tasks were handed in, and how many of these have ended.
  virtual std::size_t submitted() const = 0;
  virtual std::size_t done() const = 0;
  /// Wait until task `index`, or at least `n` tasks, have ended; false if `limit` passed
  /// first. On an inline session the waiting thread runs the tasks; a wait that could
  /// never end throws Error.
  virtual bool wait_index(std::size_t index, Clock::time_point limit) = 0;
  virtual bool wait_done(std::size_t n, Clock::time_point limit) = 0;
  /// The outcome of a task that has ended. It stays here.
  virtual RawOutcome at(std::size_t index) const = 0;
  /// Waits for the outcome of task `index`, the lowest that was not taken, and gives it
  /// away.
  virtual RawOutcome take(std::size_t index) = 0;
  /// Gives away the outcomes that are there, from the lowest that was not taken up to the
  /// first that is missing.
  virtual std::vector<RawOutcome> take_ready() = 0;
  /// Waits for an outcome that was not taken and gives it away, in the order in which
  /// tasks end. Nothing if all were taken.
  virtual std::optional<std::pair<std::size_t, RawOutcome>> take_any() = 0;
  /// Ends as Cancelled the tasks that have not ended.
  virtual void cancel() = 0;
  /// Calls `f` once, when all tasks have ended: on any thread, maybe before this returns.
  /// `f` must not block.
  virtual void on_end(std::function<void()> f) = 0;
  /// Lets a thread wait for several of these at once.
  virtual std::unique_ptr<WaitPoint> wait_point() const = 0;
};

} // namespace fiber::detail
