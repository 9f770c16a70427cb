// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace fiber::detail {

/// Detects deadlock on an inline session, where a thread that waits runs other tasks
/// meanwhile. One object serves one wait.
class InlinePatience {
public:
  /// Called after each task that the waiting thread ran.
  void renew() { idle_since_ = Clock::now(); }
  /// Called when there was no task to run. Throws Error if the waiting thread is itself a
  /// task and has found nothing to run for 2 s: it then waits for a task that cannot run
  /// before it ends.
  void check() const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point idle_since_ = Clock::now();
};

} // namespace fiber::detail
