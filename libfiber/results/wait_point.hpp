// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fiber/detail/results.hpp"
#include "wire/leadership.hpp"

namespace fiber::detail {

/// A condition variable for threads that wait for results. A waiting thread does the
/// reactor's work meanwhile, or runs tasks on an inline session.
class WaitPoint {
public:
  using Clock = Results::Clock;

  /// On an inline session `run_one` runs a task on the calling thread and returns whether
  /// there was one; otherwise it is empty. Waiting threads may lead the reactor of
  /// `leadership`.
  WaitPoint(std::function<bool()> run_one, std::shared_ptr<wire::Leadership> leadership);

  /// Returns a new wait point of the same session.
  std::unique_ptr<WaitPoint> another() const;

  /// Returns the mutex that guards the state of the condition.
  std::mutex& mutex() const { return mutex_; }
  /// Waits until `fulfilled` returns true; it is called with the mutex held. Returns
  /// false if `limit` passed first. Throws Error if an inline session could never fulfil
  /// it.
  bool wait(const std::function<bool()>& fulfilled, Clock::time_point limit);
  /// Wakes the threads whose condition holds. REQUIRES: the mutex is held.
  void wake();

private:
  struct Waiting {
    const std::function<bool()>& fulfilled;
    wire::Waiter changed;
  };

  bool wait_inline(const std::function<bool()>& fulfilled, Clock::time_point limit);

  const std::function<bool()> run_one_;
  const std::shared_ptr<wire::Leadership> leadership_;
  mutable std::mutex mutex_;
  std::vector<Waiting*> waiting_;
};

} // namespace fiber::detail
