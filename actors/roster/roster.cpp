// SPDX-License-Identifier: Apache-2.0
#include "actors/roster/roster.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace fiber::actors {
namespace {

constexpr std::size_t max_nodes = 1000; ///< Whose losses are counted.
constexpr std::size_t max_ended = 1000; ///< Jobs whose output is kept.
constexpr std::size_t max_why = 4096;   ///< Bytes of the text of a failure or a wait.

std::string shortened(std::string text) {
  if (text.size() > max_why) {
    text.resize(max_why);
    text += "...";
  }
  return text;
}

} // namespace

void Roster::expect(std::uint64_t incarnation, JobEntry entry) {
  std::lock_guard lock(mutex_);
  entry.since = std::chrono::steady_clock::now();
  if (auto known = losses_.find(entry.node); known != losses_.end())
    entry.restarts = known->second;
  jobs_[incarnation] = std::move(entry);
}

void Roster::created(std::uint64_t incarnation, std::string id) {
  std::lock_guard lock(mutex_);
  if (auto job = jobs_.find(incarnation); job != jobs_.end())
    job->second.id = std::move(id);
}

void Roster::waits(std::uint64_t incarnation, std::string why) {
  std::lock_guard lock(mutex_);
  if (auto job = jobs_.find(incarnation);
      job != jobs_.end() && job->second.state == JobEntry::State::starting) {
    if (job->second.waits_for.empty())
      job->second.waits_since = std::chrono::steady_clock::now();
    job->second.waits_for = shortened(std::move(why));
  }
}

void Roster::up(std::uint64_t incarnation, int pid, std::weak_ptr<wire::Link> link) {
  std::lock_guard lock(mutex_);
  if (auto job = jobs_.find(incarnation); job != jobs_.end()) {
    job->second.state = JobEntry::State::up;
    job->second.pid = pid;
    job->second.waits_for.clear();
    job->second.link = std::move(link);
    add_locked(JobEvent::What::up, job->second.job);
  }
}

void Roster::draining(std::uint64_t incarnation) {
  std::lock_guard lock(mutex_);
  if (auto job = jobs_.find(incarnation); job != jobs_.end()) {
    job->second.state = JobEntry::State::draining;
    add_locked(JobEvent::What::draining, job->second.job);
  }
}

void Roster::lost(std::uint64_t incarnation, const std::string& why,
                  std::optional<int> exit_code, bool planned) {
  std::lock_guard lock(mutex_);
  auto entry = jobs_.extract(incarnation);
  if (!entry)
    return;
  auto& job = entry.mapped();
  if (planned || (job.kind != "pool" && exit_code == 0)) { // Its one task has ended.
    add_locked(JobEvent::What::ended, job.job);
    return;
  }
  if (losses_.size() >= max_nodes) {
    std::set<std::string> living;
    for (auto& [number, other] : jobs_)
      living.insert(other.node);
    std::erase_if(losses_, [&](auto& known) { return !living.contains(known.first); });
  }
  ++losses_[job.node];
  ++jobs_lost_;
  add_locked(JobEvent::What::lost, job.job, shortened(why));
  add_locked({.at = std::chrono::system_clock::now(),
              .is_job = true,
              .who = job.job,
              .why = shortened(why.empty() ? "ended" : why),
              .exit_code = exit_code});
}

void Roster::task_failed(const std::string& pool, std::size_t index,
                         const std::string& why) {
  std::lock_guard lock(mutex_);
  add_locked({.at = std::chrono::system_clock::now(),
              .is_job = false,
              .who = pool + " task " + std::to_string(index),
              .why = shortened(why)});
}

void Roster::add_locked(FailureNote failure) {
  failures_.push_back(std::move(failure));
  if (failures_.size() > max_failures)
    failures_.pop_front();
  ++failures_seen_;
}

void Roster::add_locked(JobEvent::What what, const std::string& job, std::string why) {
  events_.push_back({std::chrono::system_clock::now(), what, job, std::move(why)});
  if (events_.size() > max_events)
    events_.pop_front();
  ++events_seen_;
}

void Roster::keep_output(const std::string& job, std::string text) {
  if (text.empty())
    return;
  text.erase(0, text.size() - std::min(text.size(), max_job_output));
  std::lock_guard lock(mutex_);
  output_bytes_ += text.size();
  outputs_.push_back({job, std::move(text)});
  while (output_bytes_ > max_output || outputs_.size() > max_ended) {
    output_bytes_ -= outputs_.front().text.size();
    outputs_.pop_front();
  }
}

std::map<std::uint64_t, JobEntry> Roster::jobs() const {
  std::lock_guard lock(mutex_);
  return jobs_;
}

WaitingJobs Roster::waiting(const std::string& pool) const {
  WaitingJobs waiting;
  auto now = std::chrono::steady_clock::now();
  std::lock_guard lock(mutex_);
  for (auto& [incarnation, job] : jobs_) {
    if (job.waits_for.empty() || !job.node.starts_with(pool + "."))
      continue;
    if (waiting.jobs++ == 0 || now - job.waits_since > waiting.time) {
      waiting.why = job.waits_for;
      waiting.time = now - job.waits_since;
    }
  }
  return waiting;
}

std::vector<FailureNote> Roster::failures() const {
  std::lock_guard lock(mutex_);
  return {failures_.begin(), failures_.end()};
}

std::vector<JobEvent> Roster::events(std::uint64_t& all) const {
  std::lock_guard lock(mutex_);
  all = events_seen_;
  return {events_.begin(), events_.end()};
}

std::uint64_t Roster::failures_seen() const {
  std::lock_guard lock(mutex_);
  return failures_seen_;
}

std::uint64_t Roster::jobs_lost() const {
  std::lock_guard lock(mutex_);
  return jobs_lost_;
}

std::optional<std::string> Roster::output(const std::string& job) const {
  std::lock_guard lock(mutex_);
  auto kept = std::ranges::find(outputs_, job, &Output::job);
  return kept == outputs_.end() ? std::nullopt : std::optional(kept->text);
}

std::vector<std::string> Roster::ended() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (auto& output : outputs_)
    names.push_back(output.job);
  return names;
}

} // namespace fiber::actors
