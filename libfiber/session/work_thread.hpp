// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace fiber::detail {

/// Runs functions one after another on a thread of its own, which starts with the first
/// function. It keeps slow work off other threads. The owner must call end(), because a
/// queued function may hold a reference to the WorkThread itself.
///
/// Thread safety: any thread may call any member function.
class WorkThread {
public:
  using Clock = std::chrono::steady_clock;

  WorkThread() = default;
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;
  ~WorkThread() { end(); }

  /// Runs `f` soon, or at `due`. Returns false after end().
  bool add(std::function<void()> f, Clock::time_point due = Clock::time_point::min());
  /// Accepts no more functions, runs the queued ones at once and waits for them.
  void end();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, std::function<void()>> due_; ///< Stable order.
  bool ended_ = false;
  std::thread thread_;
};

} // namespace fiber::detail
