// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "backends/backend.hpp"

namespace fiber::backends {

/// Jobs are objects in this process: no process, no link, no shared page.
///
/// There is no exit but the one that a job reports, nothing can be forced, and logs() is
/// empty: what a job writes is this process's own output. Events come on the thread that
/// causes them, after create() or terminate() has done its work and without a lock held,
/// still one at a time.
class InlineBackend final : public Backend {
public:
  /// Reports the end of a job: exit code and words. Only the first call counts.
  using Ended = std::function<void(int code, std::string detail)>;
  /// Stops a job, which is to call Ended soon. Called at most once.
  using Stop = std::function<void()>;
  /// Starts a job, on the thread that calls create(). What it throws, create() throws as
  /// an EngineError.
  using Start = std::function<Stop(const JobSpec&, Ended)>;

  explicit InlineBackend(Start start);
  /// Stops each job; one that does not report its end here is reported as ended unknown.
  ~InlineBackend() override;

  std::string name() const override { return "inline"; }
  void watch(Watcher watcher) override;
  Job create(JobSpec spec) override;
  /// Asks the job to stop, whatever the grace.
  void terminate(const JobId& job, std::chrono::milliseconds grace) override;
  std::string logs(const JobId& job) override;
  void forget(const JobId& job) override;
  std::vector<JobId> list() override;

private:
  struct State;
  std::shared_ptr<State> state_; // Shared with each Ended, which may outlive the backend.
  Start start_;
};

} // namespace fiber::backends
