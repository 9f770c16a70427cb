// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace fiber::actors {

/// Measures how long a job has been starting, and how long it has waited in queues. Only
/// one of the two clocks runs at a time. At most two intervals count between two calls,
/// so that time in which this process was suspended does not.
class StartClock {
public:
  using Duration = std::chrono::steady_clock::duration;
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Over { none, start, queue };

  StartClock() = default;
  /// A `queue` of 0 is no deadline.
  StartClock(Duration start, Duration queue)
    : interval_(std::max<Duration>(
        (queue > queue.zero() ? std::min(start, queue) : start) / 8, shortest)),
      start_(start), queue_(queue) {}

  /// From now on the job is in a queue, or no longer.
  void in_queue(TimePoint now, bool queued) {
    count(now);
    queued_ = queued;
  }
  /// Returns which deadline has passed.
  Over tick(TimePoint now) {
    count(now);
    if (queued_)
      return has_queue_deadline() && waited_ >= queue_ ? Over::queue : Over::none;
    return started_ >= start_ ? Over::start : Over::none;
  }
  /// Returns when the next tick is due.
  Duration next() const {
    auto left = !queued_               ? start_ - started_
                : has_queue_deadline() ? queue_ - waited_
                                       : interval_;
    return std::clamp<Duration>(left, shortest, interval_);
  }

private:
  static constexpr std::chrono::milliseconds shortest{1};

  bool has_queue_deadline() const { return queue_ > queue_.zero(); }
  void count(TimePoint now) {
    if (std::exchange(counts_, true))
      (queued_ ? waited_ : started_) += std::min(now - last_, 2 * interval_);
    last_ = now;
  }

  Duration interval_{shortest}, start_{}, queue_{};
  Duration started_{}, waited_{};
  TimePoint last_{};
  bool counts_ = false, queued_ = false;
};

} // namespace fiber::actors
