// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace fiber::detail {

/// Runs what it is given, one after another, on a thread that starts with the first of
/// it: what nobody else should wait for. Its owner must end() it: what it works on may
/// hold it, too.
///
/// Thread safety: any thread may call any member function.
class WorkThread {
public:
  using Clock = std::chrono::steady_clock;

  WorkThread() = default;
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;
  ~WorkThread() { end(); }

  /// Runs `f` soon, or at `due`; false after end().
  bool add(std::function<void()> f, Clock::time_point due = Clock::time_point::min());
  /// Takes no more; returns when all that was added has run, which is now due.
  void end();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, std::function<void()>> due_; ///< Of one time in order.
  bool ended_ = false;
  std::thread thread_;
};

} // namespace fiber::detail
