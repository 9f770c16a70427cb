// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/engine/loop.hpp"
#include "backends/output/output.hpp"
#include "backends/resource_variables.hpp"
#include "backends/slurm/command.hpp"
#include "backends/slurm/job_rows.hpp"
#include "backends/slurm/output_files.hpp"
#include "backends/slurm/session_folder.hpp"
#include "backends/slurm/slurm_backend.hpp"
#include "backends/slurm/slurm_job.hpp"

namespace fiber::backends::slurm {

/// What the jobs of a session share.
struct JobServices {
  Loop& loop;
  Output& output;
  OutputFiles& files;
  Commands& commands;
  const SessionFolder& folder;
  const SlurmOptions& options;
  ResourceVariables resource_variables;
  std::size_t largest_array;
  std::uint64_t file_limit; ///< Soft limit of open files for the jobs; 0: unknown.
  std::function<void(const JobEvent&)> event;
  std::function<void(std::uint64_t serial)> closed; ///< Called before the last event.
};

/// The jobs of a session: submits those that are requested within a short time as one
/// array, asks Slurm for all of them by one command, and cancels them in bulk. That a job
/// runs is known from the job itself: it removes its start file. Used on the loop's
/// thread only.
///
/// A command that fails says nothing about a job. A job has ended when Slurm says so, or
/// when two successful listings in a row do not have it.
class SlurmJobs {
public:
  explicit SlurmJobs(const JobServices& services) : services_(services) {}

  /// Accepts a job.
  void create(std::uint64_t serial, JobSpec spec);
  void terminate(std::uint64_t serial, std::chrono::milliseconds grace);
  void end_all();

private:
  using Clock = Loop::Clock;

  // Submission.
  void submit_when_quiet();
  void submit();
  JobArrayPtr next_array();
  void write_files(const JobArray& array) const;
  void send(const JobArrayPtr& array);
  void send_again(const JobArrayPtr& array);
  void submit_fewer(const JobArrayPtr& array, const std::string& detail);
  void submitted(const JobArrayPtr& array, const CommandResult& result);
  void fail_all(const JobArrayPtr& array, const std::string& detail);

  // Listings.
  void poll();
  void poll_soon();
  void schedule(std::chrono::milliseconds pause);
  void listed(const CommandResult& result);
  void compare(const JobArrayPtr& array, const std::vector<JobRow>& rows);
  void changed(const SlurmJobPtr& job, const JobRow& row);
  void waits(const SlurmJobPtr& job, const std::string& reason, JobEvent::Wait wait);
  void missing(const SlurmJobPtr& job);
  void look_up(const SlurmJobPtr& job);
  void look_at_files();

  // Ends.
  void end_later();
  void end_those_asked();
  void cancel(std::vector<std::string> words, const std::vector<std::string>& ids);
  void ended(const SlurmJobPtr& job, const JobRow& row);
  void started(const SlurmJobPtr& job);
  void fail(const SlurmJobPtr& job, const std::string& detail, int status = 0);
  void close(const SlurmJobPtr& job, const JobEvent& event);
  std::string failure(const SlurmJob& job, const JobRow& row) const;
  bool took_start_file(const SlurmJob& job) const;

  JobServices services_;
  std::map<std::uint64_t, SlurmJobPtr> jobs_; // Those that are not over.
  std::deque<SlurmJobPtr> queue_;             // Those that are not submitted.
  std::vector<JobArrayPtr> arrays_;           // Those with jobs that are not over.
  std::size_t arrays_made_ = 0;
  bool gathering_ = false, sending_ = false, polling_ = false, ending_ = false;
  bool looking_ = false, unreachable_ = false, change_ = false;
  std::chrono::milliseconds pause_{}, wait_{100};
  Clock::time_point first_request_{}, last_request_{}, last_submission_{};
  std::optional<Loop::Timer> next_poll_;
  Clock::time_point next_poll_at_{}, last_poll_{};
};

} // namespace fiber::backends::slurm
