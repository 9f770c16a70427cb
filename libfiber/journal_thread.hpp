// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace fiber::detail {

/// Something that writes results to a file, step by step.
class JournalWork {
public:
  using Clock = std::chrono::steady_clock;
  virtual ~JournalWork() = default;
  /// Writes what there is. Returns when it wants to be called again though nothing new
  /// may have come; nothing: never. `last`: there will be no later.
  virtual std::optional<Clock::time_point> step(bool last) = 0;
};

/// Writes the journals of a session, so that nobody else waits for a disk. Starts with
/// the first of them. Its owner must end() it: what it works on may hold it, too.
class JournalThread {
public:
  JournalThread() = default;
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;
  ~JournalThread() { end(); }

  /// Has `work` do a step soon; false after end().
  bool wake(const std::shared_ptr<JournalWork>& work);
  /// Does what there is to do, then takes no more.
  void end();

private:
  using Clock = JournalWork::Clock;
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::shared_ptr<JournalWork>, Clock::time_point> due_; ///< A handful.
  bool ended_ = false;
  std::thread thread_;
};

} // namespace fiber::detail
