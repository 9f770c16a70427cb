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

/// How a task ended: its packed result, or why there is none.
struct RawOutcome {
  Payload value;
  std::exception_ptr error;
};

/// The results of one call as they arrive, shared by the pool that delivers and everybody
/// who waits. Thread safety: any thread may call any member function.
class Results {
public:
  using Clock = std::chrono::steady_clock;
  /// No limit.
  static constexpr Clock::time_point forever = Clock::time_point::max();

  virtual ~Results() = default;
  /// How many tasks were handed in, and how many of them have ended.
  virtual std::size_t submitted() const = 0;
  virtual std::size_t done() const = 0;
  /// Wait until a task, at least `n` tasks, or any task not yet taken has ended; false if
  /// `limit` passed first. On an inline session the waiting thread runs the tasks; a wait
  /// that could never end throws Error.
  virtual bool wait_index(std::size_t index, Clock::time_point limit) = 0;
  virtual bool wait_done(std::size_t n, Clock::time_point limit) = 0;
  /// The outcome of a task that has ended; it stays.
  virtual RawOutcome at(std::size_t index) const = 0;
  /// Waits for the outcome of `index` and gives it away; it must be the lowest not taken.
  virtual RawOutcome take(std::size_t index) = 0;
  /// Gives away the outcomes that are there, from the lowest not taken up to the first
  /// that is missing.
  virtual std::vector<RawOutcome> take_ready() = 0;
  /// Waits for any outcome not taken yet, in order of completion; nothing if all were
  /// taken.
  virtual std::optional<std::pair<std::size_t, RawOutcome>> take_any() = 0;
  /// Ends as Cancelled what has not ended.
  virtual void cancel() = 0;
  /// Calls `f` once when all tasks have ended, maybe at once, on any thread; it must not
  /// block.
  virtual void on_end(std::function<void()> f) = 0;
  /// For who waits for several of these.
  virtual std::unique_ptr<WaitPoint> wait_point() const = 0;
};

} // namespace fiber::detail
