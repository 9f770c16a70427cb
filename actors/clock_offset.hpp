// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace fiber::actors {

/// By how much a job's clock is ahead of this process's, from questions and answers: it
/// was read while the question was under way, at the middle of the round trip to within
/// half of it. The quickest answer counts. A job of this machine has the same clock: an
/// offset that may be none is none.
class ClockOffset {
public:
  using Time = std::chrono::steady_clock::time_point;

  void asked(Time now) { asked_ = now; }
  void answered(std::chrono::nanoseconds clock, Time now) {
    auto trip = now - asked_;
    if (trip > trip_)
      return;
    trip_ = trip;
    auto ahead = clock - (asked_ + trip / 2).time_since_epoch();
    value_ = ahead > trip / 2 || ahead < -trip / 2 ? ahead : std::chrono::nanoseconds(0);
  }
  std::chrono::nanoseconds value() const { return value_; }

private:
  Time asked_;
  std::chrono::nanoseconds trip_ = std::chrono::nanoseconds::max();
  std::chrono::nanoseconds value_{0};
};

} // namespace fiber::actors
