// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>

namespace fiber::actors {

/// Estimates by how much a job's clock is ahead of this process's. The driver asks for
/// the clock (a probe), and assumes that the job read it in the middle of the round trip;
/// the error is at most half of the round trip. The shortest round trip counts. As jobs
/// of the same machine share its clock, an offset within the error counts as 0.
class ClockOffset {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// A probe was sent.
  void asked(Time now) { asked_.push_back(now); }
  /// An answer arrived. Answers come in the order of the probes.
  void answered(std::chrono::nanoseconds clock, Time now) {
    if (asked_.empty()) // The job answers a probe that was never sent.
      return;
    auto asked = asked_.front();
    asked_.pop_front();
    auto trip = now - asked;
    if (trip > trip_)
      return;
    trip_ = trip;
    auto ahead = clock - (asked + trip / 2).time_since_epoch();
    value_ = ahead > trip / 2 || ahead < -trip / 2 ? ahead : std::chrono::nanoseconds(0);
  }
  std::chrono::nanoseconds value() const { return value_; }

private:
  /// When unanswered probes were sent. A job that leaves a few unanswered is declared
  /// dead, which bounds it.
  std::deque<Time> asked_;
  std::chrono::nanoseconds trip_ = std::chrono::nanoseconds::max();
  std::chrono::nanoseconds value_{0};
};

} // namespace fiber::actors
