// SPDX-License-Identifier: Apache-2.0
// The submission of jobs, and the listings from which their state is known.
#include "backends/slurm/slurm_jobs.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "backends/container/container_entry.hpp"
#include "backends/engine/program.hpp"
#include "backends/slurm/strangers.hpp"
#include "backends/slurm/submission.hpp"
#include "base/log.hpp"

namespace fiber::backends::slurm {

namespace {

using std::chrono::milliseconds;

// Jobs wait for others, to go into the same array. The wait grows fourfold while jobs
// come right after a submission, so that the start of many jobs takes few submissions.
constexpr milliseconds first_wait{100}, longest_wait{6400};
constexpr int gaps = 5; // The wait ends if no job comes within this part of it.
constexpr milliseconds shortest_pause{1000}; // Between listings.
constexpr milliseconds after_news{250};      // If the last listing is long ago.
constexpr milliseconds longest_pause{5000};
constexpr milliseconds look_again{250};  // At the files of jobs.
constexpr milliseconds look_early{5000}; // After the submission, before Slurm says more.

bool same_shape(const JobSpec& one, const JobSpec& two) {
  return one.resources == two.resources && one.environment == two.environment;
}

} // namespace

std::string task_id(const SlurmJob& job) {
  return job.array->id + "_" + std::to_string(job.index);
}

std::vector<std::string> task_ids(const std::vector<SlurmJobPtr>& jobs) {
  std::map<std::string, std::set<std::size_t>> arrays;
  for (auto& job : jobs)
    arrays[job->array->id].insert(job->index);
  std::vector<std::string> ids;
  for (auto& [array, tasks] : arrays) {
    std::string ranges;
    for (auto task = tasks.begin(); task != tasks.end(); ++task) {
      const auto first = *task;
      auto last = first;
      for (; std::next(task) != tasks.end() && *std::next(task) == last + 1; ++task)
        ++last;
      ranges += (ranges.empty() ? "" : ",") + std::to_string(first);
      if (last > first)
        ranges += "-" + std::to_string(last);
    }
    ids.push_back(array + "_[" + ranges + "]");
  }
  return ids;
}

// -- submission --

void SlurmJobs::create(std::uint64_t serial, JobSpec spec) {
  auto job = std::make_shared<SlurmJob>();
  job->serial = serial;
  job->spec = std::move(spec);
  jobs_[serial] = job;
  queue_.push_back(job);
  last_request_ = Clock::now();
  if (std::exchange(gathering_, true))
    return;
  first_request_ = last_request_;
  wait_ = first_request_ - last_submission_ < wait_ ? std::min(4 * wait_, longest_wait)
                                                    : first_wait;
  services_.loop.after(wait_ / gaps, [this] { submit_when_quiet(); });
}

/// Submits what was requested, once no more comes.
void SlurmJobs::submit_when_quiet() {
  auto now = Clock::now();
  bool more = now - last_request_ < wait_ / gaps && now - first_request_ < wait_;
  if (sending_ || more) {
    services_.loop.after(first_wait / gaps, [this] { submit_when_quiet(); });
    return;
  }
  gathering_ = false;
  last_submission_ = now;
  submit();
}

/// Submits one array at a time, so that jobs that are requested meanwhile are together in
/// the next one.
void SlurmJobs::submit() {
  if (sending_)
    return;
  auto array = next_array();
  if (!array)
    return;
  try {
    array->folder = services_.folder.add(std::to_string(arrays_made_));
    write_files(*array);
  } catch (const EngineError& error) {
    fail_all(array, error.what());
    return services_.loop.post([this] { submit(); });
  }
  arrays_.push_back(array);
  send(array);
}

/// Returns the jobs that were requested first and can be in one array, or null.
JobArrayPtr SlurmJobs::next_array() {
  std::erase_if(queue_, [](auto& job) { return job->over; });
  if (queue_.empty())
    return nullptr;
  auto array = std::make_shared<JobArray>();
  array->name = name_prefix(services_.folder.session()) + std::to_string(++arrays_made_);
  auto first = queue_.front();
  std::erase_if(queue_, [&](auto& job) {
    if (array->jobs.size() == services_.largest_array ||
        !same_shape(job->spec, first->spec))
      return false;
    job->array = array;
    job->index = array->jobs.size();
    array->jobs.push_back(job);
    return true;
  });
  return array;
}

void SlurmJobs::write_files(const JobArray& array) const {
  for (auto& job : array.jobs) {
    write_private(start_file(array.folder, job->index), container_start(job->spec));
    job->spec.keys.clear();
    job->spec.boot.clear();
    services_.files.add(job->serial, output_file(array.folder, job->index));
  }
}

void SlurmJobs::send(const JobArrayPtr& array) {
  sending_ = true;
  auto& spec = array->jobs.front()->spec;
  auto environment = services_.options.environment;
  for (auto& [name, value] : spec.environment)
    environment[name] = value;
  environment.merge(
    services_.resource_variables.of(resources_in_all(spec.resources, services_.options)));
  auto script = job_script(array->folder, program_path(), program_arguments(),
                           environment, services_.file_limit);
  std::erase_if(environment, [](auto& each) { return is_shell_name(each.first); });
  services_.commands.run(
    sbatch_words({.name = array->name,
                  .folder = array->folder,
                  .tasks = array->jobs.size(),
                  .resources = spec.resources},
                 services_.options, program_directory()),
    [this, array](const CommandResult& result) {
      sending_ = false;
      submitted(array, result);
      if (!gathering_) // Else those that are left go with the next.
        submit();
    },
    environment, std::move(script));
}

/// Submits an array that has not reached Slurm, unless none of its jobs is wanted by now.
void SlurmJobs::send_again(const JobArrayPtr& array) {
  for (auto jobs = array->jobs; auto& job : jobs)
    if (!job->over && job->end_by)
      fail(job, "terminated before it was submitted");
  if (!array->jobs.empty()) // close() empties an array that is over.
    send(array);
}

void SlurmJobs::submitted(const JobArrayPtr& array, const CommandResult& result) {
  array->submitted = Clock::now();
  if (result.unanswered()) {
    log().warn("slurm: no answer to sbatch, so it is not known whether there are {} new "
               "jobs: {}",
               array->jobs.size(), result.problem());
    array->unclear = true;
    return schedule(longest_pause);
  }
  auto id = parse_submitted(result.output);
  if (!result.ok() && is_submit_limit(result.problem()))
    return submit_fewer(array, result.problem());
  if (!result.ok() || !id)
    return fail_all(array, result.ok() ? "sbatch printed no job id: " + result.output
                                       : result.problem());
  array->id = *id;
  log().debug("slurm: submitted {} as job {}, {} tasks", array->name, array->id,
              array->jobs.size());
  // Those that were given up before the array was sent again.
  std::vector<SlurmJobPtr> unwanted;
  std::ranges::copy_if(array->jobs, std::back_inserter(unwanted),
                       [](auto& job) { return job->over; });
  cancel({"scancel"}, task_ids(unwanted));
  poll_soon();
  look_at_files();
  end_later();
}

/// Slurm refuses a whole array of which a part would fit: tries the first half of it.
void SlurmJobs::submit_fewer(const JobArrayPtr& array, const std::string& detail) {
  auto jobs = array->jobs;
  auto kept = jobs.size() / 2;
  array->jobs.resize(std::max<std::size_t>(1, kept)); // One is there, to close the array.
  for (auto job = jobs.begin() + static_cast<std::ptrdiff_t>(kept); job != jobs.end();
       ++job)
    fail(*job, detail, EDQUOT);
  send_again(array);
}

void SlurmJobs::fail_all(const JobArrayPtr& array, const std::string& detail) {
  for (auto jobs = array->jobs; auto& job : jobs)
    fail(job, detail);
}

// -- listings --

void SlurmJobs::schedule(milliseconds pause) {
  auto at = Clock::now() + pause;
  if (next_poll_ && next_poll_at_ <= at)
    return;
  if (next_poll_)
    services_.loop.cancel(*next_poll_);
  next_poll_at_ = at;
  next_poll_ = services_.loop.after(pause, [this] {
    next_poll_.reset();
    poll();
  });
}

void SlurmJobs::poll_soon() {
  pause_ = shortest_pause;
  if (polling_)
    return;
  auto due = std::chrono::ceil<milliseconds>(last_poll_ + shortest_pause - Clock::now());
  schedule(std::max(due, after_news));
}

void SlurmJobs::poll() {
  if (polling_)
    return;
  std::string names;
  for (auto& array : arrays_) {
    array->listed = !array->id.empty();
    array->asked = array->listed || array->unclear;
    if (array->asked)
      names += (names.empty() ? "" : ",") + array->name;
  }
  if (names.empty())
    return; // The next submission begins anew.
  polling_ = true;
  last_poll_ = Clock::now();
  change_ = false;
  std::vector<std::string> words{"squeue", "--user=" + user_id(), "--name=" + names};
  for (auto& option : row_options())
    words.push_back(option);
  services_.commands.run(words, [this](const CommandResult& result) {
    polling_ = false;
    listed(result);
  });
}

void SlurmJobs::listed(const CommandResult& result) {
  if (!result.ok()) {
    if (!std::exchange(unreachable_, true))
      log().warn("slurm: squeue: {}; jobs go on, their ends are seen later",
                 result.problem());
    return schedule(longest_pause);
  }
  if (std::exchange(unreachable_, false))
    log().warn("slurm: squeue answers again");
  auto rows = parse_rows(result.output);
  for (auto arrays = arrays_; auto& array : arrays)
    compare(array, rows);
  end_later();
  pause_ = change_ ? shortest_pause
                   : std::min(std::max(pause_ * 3 / 2, shortest_pause), longest_pause);
  schedule(pause_);
}

void SlurmJobs::compare(const JobArrayPtr& array, const std::vector<JobRow>& rows) {
  auto mine = [&](const JobRow& row) { return row.name == array->name; };
  if (!array->asked)
    return;
  if (std::exchange(array->unclear, false)) {
    change_ = true;
    auto found = std::ranges::find_if(rows, mine);
    if (found == rows.end())
      return send_again(array);
    array->id = found->array;
    array->listed = true;
  }
  if (!array->listed)
    return;
  std::vector<const JobRow*> by_index(array->jobs.size());
  std::set<std::string> doubles;
  for (auto& row : rows) {
    if (!mine(row))
      continue;
    if (row.array != array->id && !row.over())
      doubles.insert(row.array);
    else if (row.array == array->id && row.index < static_cast<int>(array->jobs.size()))
      by_index[static_cast<std::size_t>(row.index)] = &row;
  }
  // A request that seemed lost was carried out after all.
  cancel({"scancel"}, {doubles.begin(), doubles.end()});
  for (auto jobs = array->jobs; auto& job : jobs) {
    if (job->over)
      continue;
    if (auto* row = by_index[job->index])
      changed(job, *row);
    else
      missing(job);
  }
}

void SlurmJobs::changed(const SlurmJobPtr& job, const JobRow& row) {
  constexpr std::chrono::seconds longest_completion(60);
  job->missing = 0;
  if (row.over())
    return ended(job, row);
  if (row.waits()) {
    auto wait = row.is_in_queue() ? JobEvent::Wait::room : JobEvent::Wait::blocked;
    waits(job, row.reason.empty() ? row.state : row.reason, wait);
    if (!row.reason.empty() && job->array->told_reason != row.reason)
      log().info("slurm: job {} waits: {}", job->array->id, row.reason);
    job->array->told_reason = row.reason;
    return;
  }
  if (!std::exchange(job->runs, true)) {
    change_ = true;
    waits(job, "", JobEvent::Wait::blocked);
  }
  if (row.state != "COMPLETING")
    return job->completing.reset();
  if (!job->completing)
    job->completing = Clock::now();
  change_ = true;
  // Its node does not answer: Slurm waits for that, maybe for ever.
  if (Clock::now() - *job->completing > longest_completion)
    ended(
      job,
      {.array = row.array, .index = row.index, .state = "COMPLETING", .node = row.node});
}

void SlurmJobs::waits(const SlurmJobPtr& job, const std::string& reason,
                      JobEvent::Wait wait) {
  if (job->reason == reason)
    return;
  change_ = true;
  job->reason = reason;
  if (!job->told_started) // Slurm may requeue a job.
    services_.event({.kind = JobEvent::Kind::waits,
                     .job = job->spec.name,
                     .detail = reason,
                     .wait = wait});
}

void SlurmJobs::missing(const SlurmJobPtr& job) {
  constexpr int lost = 2; // Listings in a row.
  change_ = true;
  ++job->missing;
  if (job->end_by && !job->runs && !took_start_file(*job))
    return fail(job, "terminated before it started" +
                       (job->reason.empty() ? "" : "; Slurm job waited: " + job->reason));
  if (job->missing < lost)
    return;
  if (!took_start_file(*job))
    return fail(job, "Slurm no longer has job " + task_id(*job) +
                       ": it was cancelled before it started, or lost");
  if (!std::exchange(job->looked_up, true))
    look_up(job);
}

/// Asks the accounting, which many sites have, how a job ended that is no longer listed.
void SlurmJobs::look_up(const SlurmJobPtr& job) {
  std::vector<std::string> words{"sacct", "--jobs=" + task_id(*job),
                                 "--name=" + job->array->name};
  for (auto& option : accounting_options())
    words.push_back(option);
  services_.commands.run(words, [this, job](const CommandResult& result) {
    if (job->over)
      return;
    if (auto row = parse_accounting(result.ok() ? result.output : ""))
      return ended(job, *row);
    started(job);
    close(job,
          {.kind = JobEvent::Kind::ended,
           .job = job->spec.name,
           .detail = Exit::unknown("Slurm no longer has job " + task_id(*job)).detail,
           .disrupted = true,
           .confirmed = false});
  });
}

/// Passes on new output, and reports jobs that have taken their start file.
void SlurmJobs::look_at_files() {
  if (looking_)
    return;
  services_.files.read_all();
  bool any = false;
  for (auto jobs = jobs_; auto& [serial, job] : jobs) {
    if (!job->array || job->array->id.empty())
      continue;
    any = true;
    bool soon = Clock::now() - job->array->submitted < look_early;
    if (!job->told_started && (job->runs || soon) && took_start_file(*job))
      started(job);
  }
  looking_ = any;
  if (any)
    services_.loop.after(look_again, [this] {
      looking_ = false;
      look_at_files();
    });
}

} // namespace fiber::backends::slurm
