// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace fiber::actors {

/// Tasks that a worker ran one after the other and answered together, or one task.
struct StreamSpan {
  using Time = std::chrono::steady_clock::time_point;
  enum class Outcome : std::uint8_t {
    value,
    failed, ///< At least one of them threw or was overdue.
    lost    ///< The worker was lost while it had them.
  };

  std::string pool;
  std::size_t worker = 0; ///< Its rank within the pool.
  std::uint64_t call = 0;
  std::uint64_t first = 0; ///< Index of the first task.
  std::uint64_t tasks = 1;
  std::uint64_t failed = 0;
  std::uint32_t attempt = 1; ///< Of the first task.
  Outcome outcome = Outcome::value;
  Time from = {}, to = {};
};

/// The last tasks of a session, for its observers. Memory and cost are bounded: the last
/// `max_kept` spans are kept, and of those that went well not more than
/// `max_per_second` in the mean. What is left out is counted.
///
/// Thread safety: any thread may call any member function.
class TaskStream {
public:
  static constexpr std::size_t max_kept = 8192;
  static constexpr double max_per_second = 400, max_at_once = 2000;

  void add(StreamSpan span);

  /// The recorded spans from a number on.
  struct Piece {
    std::vector<StreamSpan> spans; ///< The oldest first.
    std::uint64_t first = 0;       ///< The number of the first one.
    std::uint64_t next = 0;        ///< The number that the next span will have.
    std::uint64_t left_out = 0;    ///< Tasks that were not recorded so far.
    std::uint64_t dropped = 0; ///< Tasks that were recorded and are not kept any more.
  };
  /// Returns the spans that are kept, from number `from` on.
  Piece since(std::uint64_t from) const;

private:
  mutable std::mutex mutex_;
  std::deque<StreamSpan> spans_;
  std::uint64_t next_ = 0;
  std::uint64_t left_out_ = 0, dropped_ = 0;
  double budget_ = max_at_once;
  StreamSpan::Time filled_ = {};
};

} // namespace fiber::actors
