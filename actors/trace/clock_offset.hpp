// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>

namespace fiber::actors {

/// By how much a job's clock is ahead of this process's, from questions and answers: it
/// was read while the question was under way, at the middle of the round trip to within
/// half of it. The quickest answer counts. A job of this machine has the same clock: an
/// offset that may be none is none.
class ClockOffset {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// One more question is under way.
  void asked(Time now) { asked_.push_back(now); }
  /// The next answer: they come in the order of the questions, perhaps behind later ones.
  void answered(std::chrono::nanoseconds clock, Time now) {
    if (asked_.empty()) // Nobody asked.
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
  std::deque<Time> asked_; ///< Who does not answer is declared dead after a few.
  std::chrono::nanoseconds trip_ = std::chrono::nanoseconds::max();
  std::chrono::nanoseconds value_{0};
};

} // namespace fiber::actors
