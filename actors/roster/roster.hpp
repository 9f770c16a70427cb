// SPDX-License-Identifier: Apache-2.0
#pragma once

// roster/ holds what the observers of a session see of its jobs. Of actors/ it includes
// nothing.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/roster/task_stream.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// A job that has not ended.
struct JobEntry {
  std::string node; ///< Its replacements have the same name.
  std::string job;  ///< Unique in the session.
  std::string kind; ///< "pool", "process", "async", "objects", "ring".
  std::size_t slots = 1;
  enum class State : std::uint8_t { starting, up, draining };
  State state = State::starting;
  std::string waits_for = {}; ///< Why it has not started, in the engine's words.
  std::chrono::steady_clock::time_point waits_since = {}; ///< If it waits for anything.
  std::string id =
    {};             ///< The engine's name; empty until the engine has accepted the job.
  int pid = 0;      ///< As the job sees it; 0 until it is up.
  int restarts = 0; ///< Losses of this node before.
  std::chrono::steady_clock::time_point since = {}; ///< When it was asked for.
  std::weak_ptr<wire::Link> link = {};
};

/// What the jobs of one pool wait for that have not started.
struct WaitingJobs {
  std::size_t jobs = 0;
  std::string why;                            ///< Of the job that has waited longest.
  std::chrono::steady_clock::duration time{}; ///< How long that job has waited.
};

/// A job that was lost unasked, or a task that failed.
struct FailureNote {
  std::chrono::system_clock::time_point at;
  bool is_job = true;
  std::string who; ///< "pool1.w0-3", "pool1 task 17"
  std::string why;
  std::optional<int> exit_code = {}; ///< Of a job; -N: signal N.
};

/// What happened to a job.
struct JobEvent {
  std::chrono::system_clock::time_point at;
  enum class What : std::uint8_t { up, draining, ended, lost };
  What what = What::up;
  std::string job;
  std::string why = {}; ///< Of a loss.
};

/// The jobs of a session, its last failures and events, and the last output of jobs that
/// have ended. It changes when a job or a failed task comes or goes, and costs nothing
/// otherwise.
///
/// Thread safety: any thread may call any member function.
class Roster {
public:
  static constexpr std::size_t max_failures = 100; ///< The latest are kept.
  static constexpr std::size_t max_events = 200;   ///< The latest are kept.
  /// Limits on the output that is kept: of each job, of all of them together.
  static constexpr std::size_t max_job_output = 64 * 1024, max_output = 2 * 1024 * 1024;

  /// A job was asked for. Sets since and restarts itself.
  void expect(std::uint64_t incarnation, JobEntry entry);
  void created(std::uint64_t incarnation, std::string id);
  /// The job has not started, because of what the engine says; empty: it says nothing, or
  /// the job has started.
  void waits(std::uint64_t incarnation, std::string why);
  void up(std::uint64_t incarnation, int pid, std::weak_ptr<wire::Link> link);
  void draining(std::uint64_t incarnation);
  /// The job is gone. It counts as a failure unless that was `planned`.
  void lost(std::uint64_t incarnation, const std::string& why,
            std::optional<int> exit_code, bool planned);
  void task_failed(const std::string& pool, std::size_t index, const std::string& why);
  /// Keeps the end of the output of a job that has ended.
  void keep_output(const std::string& job, std::string text);

  /// Returns the jobs by incarnation.
  std::map<std::uint64_t, JobEntry> jobs() const;
  /// Returns which jobs of the pool of that name wait.
  WaitingJobs waiting(const std::string& pool) const;
  /// Returns the last failures, the oldest first.
  std::vector<FailureNote> failures() const;
  /// Returns the last events of jobs, the oldest first, and sets how many there were.
  std::vector<JobEvent> events(std::uint64_t& all) const;
  /// Records the tasks of pools from now on. Must be called before there are pools.
  void keep_stream() { stream_ = std::make_unique<TaskStream>(); }
  /// Returns the last tasks, or null if they are not recorded.
  TaskStream* stream() const { return stream_.get(); }
  /// Returns how many failures there were so far, also those that are not kept.
  std::uint64_t failures_seen() const;
  /// Returns how many jobs were lost unasked so far.
  std::uint64_t jobs_lost() const;
  /// Returns the output that is kept of a job, or nothing.
  std::optional<std::string> output(const std::string& job) const;
  /// Returns the names of ended jobs whose output is kept, the oldest first.
  std::vector<std::string> ended() const;

private:
  struct Output {
    std::string job, text;
  };
  void add_locked(FailureNote failure);
  void add_locked(JobEvent::What what, const std::string& job, std::string why = {});

  mutable std::mutex mutex_;
  std::map<std::uint64_t, JobEntry> jobs_;
  std::map<std::string, int> losses_; ///< By node.
  std::deque<FailureNote> failures_;
  std::uint64_t failures_seen_ = 0;
  std::deque<JobEvent> events_;
  std::uint64_t events_seen_ = 0;
  std::unique_ptr<TaskStream> stream_; ///< Set before the threads that use it start.
  std::deque<Output> outputs_;
  std::size_t output_bytes_ = 0;
  std::uint64_t jobs_lost_ = 0;
};

} // namespace fiber::actors
