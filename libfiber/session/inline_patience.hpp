// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace fiber::detail {

/// Of one who waits on an inline session and runs tasks meanwhile.
class InlinePatience {
public:
  /// A task was run.
  void renew() { idle_since_ = Clock::now(); }
  /// There was none to run. Throws Error if that has been so for long within a task: what
  /// it waits for can't run before it ends.
  void check() const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point idle_since_ = Clock::now();
};

} // namespace fiber::detail
