// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace fiber::wire {

/// Foretells from the last waits whether the next one will be short, so that to look
/// again and again for a little while is better than to sleep and be woken (Karlin et
/// al., "Empirical studies of competitive spinning", SOSP 1991): by a saturating counter,
/// as processors predict branches (Smith, ISCA 1981).
class ShortWaits {
public:
  using Duration = std::chrono::steady_clock::duration;
  /// What counts as short, and how long to look. On a virtual machine a sleep and a
  /// wake-up take some 40 us at each end; beside them goes what the other end does.
  static constexpr std::chrono::microseconds limit{200};

  /// A thread begins to wait, or something came that may lead to what it waits for.
  void renew() { since_renewed_ = 0; }
  /// To be asked once before each sleep, which ends with one of the four below. A
  /// thousand links have a heartbeat or a timer to see to every few hundred microseconds:
  /// no sleep is short that comes after many of them and nothing else.
  bool expected() {
    since_renewed_ = std::min(since_renewed_ + 1, most_sleeps + 1);
    if (is_long_wait())
      return false;
    if (waits_held_off_ == 0)
      return score_ > 0;
    --waits_held_off_;
    return false;
  }

  void slept(Duration length) {
    if (!is_long_wait())
      count(length < limit);
  }
  void found() {
    count(true);
    next_hold_off_ = std::max(next_hold_off_ - 1, least_hold_off);
  }
  void found_nothing() { count(false); }
  /// While it looked it was off the processor for longer than `limit`. Who sleeps mostly
  /// gets it back when it is woken, who looks only when the others have had their share;
  /// so it is not to look for some waits, the more the oftener this happens.
  void lost_processor() {
    count(false);
    waits_held_off_ = next_hold_off_;
    next_hold_off_ = std::min(2 * next_hold_off_, most_hold_off);
  }

private:
  static constexpr int most_score = 8, least_hold_off = 16, most_hold_off = 1024;
  static constexpr int most_sleeps = 8;

  bool is_long_wait() const { return since_renewed_ > most_sleeps; }
  void count(bool was_short) {
    score_ = was_short ? std::min(score_ + 1, most_score) : std::max(score_ - 1, 0);
  }

  int score_ = 0;
  int since_renewed_ = 0;  ///< How often expected() was asked.
  int waits_held_off_ = 0; ///< Left of this time.
  int next_hold_off_ = least_hold_off;
};

} // namespace fiber::wire
