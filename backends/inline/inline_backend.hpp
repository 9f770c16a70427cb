// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "backends/backend.hpp"

namespace fiber::backends {

/// A backend whose jobs are objects in this process, without process, link and shared
/// page.
///
/// A job ends only when it reports so; nothing can be forced. logs() is empty, because a
/// job writes to this process's own output. Events come one at a time on the thread that
/// causes them, after create() or terminate() has done its work, and without a lock held.
class InlineBackend final : public Backend {
public:
  /// Reports the end of a job, with exit code and detail. Only the first call counts.
  using Ended = std::function<void(int code, std::string detail)>;
  /// Stops a job, which must then call Ended soon. Called at most once.
  using Stop = std::function<void()>;
  /// Starts a job on the thread that calls create(), which turns exceptions into
  /// EngineError.
  using Start = std::function<Stop(const JobSpec&, Ended)>;

  explicit InlineBackend(Start start);
  /// Stops each job. Reports jobs that do not end as ended with an unknown exit.
  ~InlineBackend() override;

  std::string name() const override { return "inline"; }
  void watch(Watcher watcher) override;
  Job create(JobSpec spec) override;
  /// Asks the job to stop; ignores `grace`.
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
