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

class WaitPoint;

/// The outcome of a task: its packed result, or the error.
struct RawOutcome {
  Payload value;
  std::exception_ptr error;
};

/// The results of one call as they arrive, shared by the pool and all threads that wait.
/// Thread safety: any thread may call any member function.
class Results {
public:
  using Clock = std::chrono::steady_clock;
  /// No limit.
  static constexpr Clock::time_point forever = Clock::time_point::max();

  virtual ~Results() = default;
  /// Return the numbers of tasks submitted and ended.
  virtual std::size_t submitted() const = 0;
  virtual std::size_t done() const = 0;
  /// Wait until the task `index`, or at least `n` tasks, have ended. Return false if
  /// `limit` passed first. On an inline session the waiting thread runs the tasks; a wait
  /// that could never end throws Error.
  virtual bool wait_index(std::size_t index, Clock::time_point limit) = 0;
  virtual bool wait_done(std::size_t n, Clock::time_point limit) = 0;
  /// Returns the outcome of a task that has ended, and keeps it.
  virtual RawOutcome at(std::size_t index) const = 0;
  /// Waits for the outcome of `index`, the lowest index not taken, and removes it.
  virtual RawOutcome take(std::size_t index) = 0;
  /// Removes and returns the outcomes from the lowest index not taken up to the first one
  /// that is missing.
  virtual std::vector<RawOutcome> take_ready() = 0;
  /// Waits for the next outcome in order of completion and removes it.
  virtual std::optional<std::pair<std::size_t, RawOutcome>> take_any() = 0;
  /// Ends unfinished tasks as Cancelled.
  virtual void cancel() = 0;
  /// Calls `f` once when all tasks have ended: at once, or later on any thread. `f` must
  /// not block.
  virtual void on_end(std::function<void()> f) = 0;
  /// Returns a new wait point, for a thread that waits for several Results.
  virtual std::unique_ptr<WaitPoint> wait_point() const = 0;
};

} // namespace fiber::detail
