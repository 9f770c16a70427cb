// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace fiber::wire {

/// Predicts from recent waits whether the next one will be so short that spinning is
/// cheaper than to park and be woken (Karlin et al., "Empirical studies of competitive
/// spinning", SOSP 1991). Uses a saturating counter, as branch predictors do (Smith, ISCA
/// 1981).
class ShortWaits {
public:
  using Duration = std::chrono::steady_clock::duration;
  /// The longest short wait, and the spin limit. On a virtual machine a sleep and a
  /// wake-up take some 40 us at each end, in addition to the work of the other end.
  static constexpr std::chrono::microseconds limit{200};

  /// Called when a thread begins to wait, or when something came that may lead to the end
  /// of its wait.
  void renew() { since_renewed_ = 0; }
  /// Returns whether to spin before the next sleep. Call it once before each sleep, and
  /// one of the four functions below after it. A thousand links need a heartbeat or a
  /// timer every few hundred microseconds, so a wait is long once many such sleeps and
  /// nothing else have followed renew().
  bool should_spin() {
    since_renewed_ = std::min(since_renewed_ + 1, max_sleeps + 1);
    if (is_long_wait())
      return false;
    if (suspended_waits_ == 0)
      return score_ > 0;
    --suspended_waits_;
    return false;
  }

  void slept(Duration length) {
    if (!is_long_wait())
      count(length < limit);
  }
  void found() {
    count(true);
    next_suspension_ = std::max(next_suspension_ - 1, min_suspension);
  }
  void found_nothing() { count(false); }
  /// Called when the spinning thread was preempted for longer than `limit`. A thread that
  /// sleeps mostly runs as soon as it is woken; one that spins runs only after the
  /// others' time slices. So it does not spin for some waits, for twice as many each
  /// time.
  void preempted() {
    count(false);
    suspended_waits_ = next_suspension_;
    next_suspension_ = std::min(2 * next_suspension_, max_suspension);
  }

private:
  static constexpr int max_score = 8, min_suspension = 16, max_suspension = 1024;
  static constexpr int max_sleeps = 8;

  bool is_long_wait() const { return since_renewed_ > max_sleeps; }
  void count(bool was_short) {
    score_ = was_short ? std::min(score_ + 1, max_score) : std::max(score_ - 1, 0);
  }

  int score_ = 0;
  int since_renewed_ = 0;   ///< Calls of should_spin() since renew().
  int suspended_waits_ = 0; ///< Waits that still must not spin.
  int next_suspension_ = min_suspension;
};

} // namespace fiber::wire
