// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fiber/detail/results.hpp"
#include "wire/leadership.hpp"

namespace fiber::detail {

/// Where threads wait for what tasks bring. Who waits does the reactor's work, or, on an
/// inline session, runs tasks.
class WaitPoint {
public:
  using Clock = Results::Clock;

  /// `run_one` runs a task on the calling thread if the session is inline, and says
  /// whether it did; empty if there are workers. Who waits leads the reactor of
  /// `leadership`.
  WaitPoint(std::function<bool()> run_one, std::shared_ptr<wire::Leadership> leadership);

  /// Another one of the same session.
  std::unique_ptr<WaitPoint> another() const;

  /// Guards whatever is waited for.
  std::mutex& mutex() const { return mutex_; }
  /// Waits until `fulfilled`, which is called under the lock; false if `limit` passed
  /// first. Throws Error if an inline session could never fulfil it.
  bool wait(const std::function<bool()>& fulfilled, Clock::time_point limit);
  /// Wakes those whose condition holds. Under the lock.
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
