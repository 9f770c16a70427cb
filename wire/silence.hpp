// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace fiber::wire {

/// Detects from regular ticks that the peer has fallen silent. At most two intervals
/// count between two ticks, so that a process that was itself stopped, or too busy to
/// tick, does not blame its peer for that time.
class Silence {
public:
  using Duration = std::chrono::steady_clock::duration;
  using TimePoint = std::chrono::steady_clock::time_point;

  Silence(Duration interval, Duration limit) : interval_(interval), limit_(limit) {}

  /// `heard` says whether bytes came since the last tick. Returns true once per silence,
  /// when it reaches the limit.
  bool tick(TimePoint now, bool heard) {
    const auto passed = std::min(now - std::exchange(last_, now), 2 * interval_);
    if (heard || !started_) {
      started_ = true;
      quiet_ = Duration::zero();
      reported_ = false;
      return false;
    }
    quiet_ += passed;
    return quiet_ >= limit_ && !std::exchange(reported_, true);
  }

private:
  Duration interval_, limit_;
  Duration quiet_{};
  TimePoint last_{};
  bool started_ = false, reported_ = false;
};

} // namespace fiber::wire
