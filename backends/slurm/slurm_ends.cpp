// SPDX-License-Identifier: Apache-2.0
// How jobs are ended, and what is reported of their ends.
#include <algorithm>
#include <utility>

#include "backends/slurm/slurm_jobs.hpp"
#include "backends/slurm/submission.hpp"
#include "base/log.hpp"

namespace fiber::backends::slurm {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds gather{10}; // Requests to end jobs become one command.
constexpr milliseconds ask_again{2000};
constexpr int max_kills = 5; // Then Slurm is to cancel the job itself.

/// Returns the last line of a job's output.
std::string last_line(const std::string& text) {
  auto end = text.find_last_not_of(" \n");
  if (end == text.npos)
    return {};
  auto line = text.substr(0, end + 1);
  return line.substr(line.rfind('\n') + 1);
}

} // namespace

void SlurmJobs::terminate(std::uint64_t serial, milliseconds grace) {
  auto found = jobs_.find(serial);
  if (found == jobs_.end())
    return;
  auto job = found->second;
  if (!job->array)
    return fail(job, "terminated before it was submitted");
  auto by = Clock::now() + grace;
  job->end_by = job->end_by ? std::min(*job->end_by, by) : by;
  services_.files.end_is_wanted(serial);
  end_later();
}

void SlurmJobs::end_all() {
  for (auto jobs = jobs_; auto& [serial, job] : jobs)
    terminate(serial, milliseconds(0));
}

void SlurmJobs::end_later() {
  if (!std::exchange(ending_, true))
    services_.loop.after(gather, [this] {
      ending_ = false;
      end_those_asked();
    });
}

/// Asks Slurm to end each job whose end was requested. A waiting job is cancelled (to
/// signal one waiting task of an array would end the whole array). A running job gets
/// SIGTERM, and SIGKILL when its grace is over. Asks again until the job has ended,
/// because a signal to a process that does not exist yet is lost.
void SlurmJobs::end_those_asked() {
  std::vector<SlurmJobPtr> waiting, asked, forced;
  auto now = Clock::now();
  auto next = Clock::time_point::max();
  for (auto& [serial, job] : jobs_) {
    if (!job->end_by || !job->array || job->array->id.empty())
      continue;
    bool force = *job->end_by <= now;
    auto due = job->signalled + ask_again;
    if (!force)
      next = std::min(next, *job->end_by);
    // The first kill need not wait for the next turn.
    if (due > now && !(force && job->runs && job->kills == 0)) {
      next = std::min(next, due);
      continue;
    }
    if (!job->runs && took_start_file(*job)) // Slurm may not have said so yet.
      started(job);
    next = std::min(next, now + ask_again);
    job->signalled = now;
    if (!job->runs || job->kills >= max_kills)
      waiting.push_back(job);
    else if (force)
      forced.push_back(job), ++job->kills;
    else
      asked.push_back(job);
  }
  cancel({"scancel"}, task_ids(waiting));
  cancel({"scancel", "--signal=TERM", "--batch"}, task_ids(asked));
  cancel({"scancel", "--signal=KILL", "--batch"}, task_ids(forced));
  if (next == Clock::time_point::max() || std::exchange(ending_, true))
    return;
  auto pause = std::chrono::ceil<milliseconds>(next - now);
  services_.loop.after(std::max(pause, gather), [this] {
    ending_ = false;
    end_those_asked();
  });
}

void SlurmJobs::cancel(std::vector<std::string> words,
                       const std::vector<std::string>& ids) {
  if (ids.empty())
    return;
  words.insert(words.end(), ids.begin(), ids.end());
  // A job that has just ended is an error, too. The next listing tells.
  services_.commands.run(std::move(words), [this](const CommandResult& result) {
    if (!result.ok())
      log().debug("slurm: scancel: {}", result.problem());
    poll_soon();
  });
}

bool SlurmJobs::took_start_file(const SlurmJob& job) const {
  return !file_exists(start_file(job.array->folder, job.index));
}

void SlurmJobs::started(const SlurmJobPtr& job) {
  change_ = true;
  job->runs = true;
  if (!std::exchange(job->told_started, true))
    services_.event({.kind = JobEvent::Kind::started, .job = job->spec.name});
}

void SlurmJobs::ended(const SlurmJobPtr& job, const JobRow& row) {
  services_.files.read(job->serial);
  if (!took_start_file(*job))
    return fail(job, failure(*job, row));
  started(job);
  auto end = end_of(row, job->spec.resources.memory_mb, job->end_by.has_value());
  // After a crash of its controller Slurm may start a job again that already runs. Then
  // the second process finds no start file, and the first one may live on.
  if (end.exit.code == script_failed &&
      last_line(services_.output.last(job->serial)).find(no_start_file) !=
        std::string::npos)
    end = {.exit = Exit::unknown("Slurm started it twice"),
           .disrupted = true,
           .confirmed = false};
  close(job, {.kind = JobEvent::Kind::ended,
              .job = job->spec.name,
              .exit_code = end.exit.code,
              .detail = end.exit.detail,
              .disrupted = end.disrupted,
              .confirmed = end.confirmed});
}

/// Says why a job ended that has not taken its start file.
std::string SlurmJobs::failure(const SlurmJob& job, const JobRow& row) const {
  constexpr int no_output_file = 53; // Slurm reports it as if it were a signal.
  if (job.end_by)
    return "terminated before it started" +
           (job.reason.empty() ? "" : "; Slurm job waited: " + job.reason);
  auto end = end_of(row, 0, false);
  auto text = "Slurm job " + task_id(job) + ": ";
  auto said = last_line(services_.output.last(job.serial));
  // Slurm 24.11 runs the script without its output file.
  if (end.exit.code == -no_output_file ||
      (end.exit.code == script_failed && said.empty()))
    return text + "node " + row.node + " can't write " +
           output_file(job.array->folder, job.index) +
           "; set slurm_directory to a folder on a file system that all nodes share";
  if (end.exit.code == script_failed)
    return text + said +
           "; the program and slurm_directory must be on a file system that all nodes "
           "share";
  text +=
    row.state + (row.reason.empty() ? "" : ", " + row.reason) + ", " + end.exit.detail;
  return said.empty() ? text : text + "; its output ends: " + said;
}

void SlurmJobs::fail(const SlurmJobPtr& job, const std::string& detail, int status) {
  close(job, {.kind = JobEvent::Kind::failed,
              .job = job->spec.name,
              .detail = detail,
              .status = status});
}

void SlurmJobs::close(const SlurmJobPtr& job, const JobEvent& event) {
  if (std::exchange(job->over, true))
    return;
  change_ = true;
  services_.files.finish(job->serial);
  jobs_.erase(job->serial);
  if (auto array = job->array) {
    std::error_code ignored;
    std::filesystem::remove(start_file(array->folder, job->index), ignored);
    if (std::ranges::all_of(array->jobs, [](auto& other) { return other->over; })) {
      std::filesystem::remove_all(array->folder, ignored);
      std::erase(arrays_, array);
      array->jobs.clear(); // They have a pointer to it.
    }
  }
  services_.closed(job->serial);
  services_.event(event);
}

} // namespace fiber::backends::slurm
