// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_jobs.hpp"

#include <algorithm>
#include <utility>

#include "backends/resource_variables.hpp"
#include "base/random_id.hpp"

namespace fiber::backends::ssh {

namespace {

constexpr std::chrono::milliseconds room_pause(20), spread_pause(500);

std::string plural(std::size_t n, const std::string& word) {
  return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
}

} // namespace

SshJobs::SshJobs(Loop& loop, Output& output, const SshOptions& options,
                 const ProgramFile& program, Handler handler)
  : loop_(loop), output_(output), handler_(std::move(handler)) {
  const auto control = control_folder() + "/" + random_id() + "-";
  for (auto& entry : options.hosts) {
    auto& member = *members_.emplace_back(std::make_unique<Member>());
    member.host = std::make_unique<Host>(loop, options, program, entry,
                                         control + std::to_string(members_.size()),
                                         handler_of(member));
  }
}

Host::Handler SshJobs::handler_of(Member& member) {
  return {
    .up = [this] { on_up(); },
    .down = [this, &member](const std::string& problem) { on_down(member, problem); },
    .event = [this](const JobEvent& event) { on_event(event); },
    .output = [this](const std::string& job,
                     std::string_view text) { return write(job, text); }};
}

void SshJobs::connect() {
  for (auto& member : members_)
    member->host->connect();
}

void SshJobs::create(std::uint64_t serial, JobSpec spec) {
  const auto name = spec.name;
  Job job;
  job.serial = serial;
  job.slots = cores_of(spec.resources);
  job.gpus = spec.resources.gpu;
  job.spec = std::move(spec);
  jobs_.emplace(name, std::move(job));
  queue_.push_back(name);
  pump();
}

/// The first host that is up waits a little for the others, so that jobs spread over all.
void SshJobs::on_up() {
  const auto is_connecting = [](auto& member) {
    return !member->host->is_up() && !member->host->is_down();
  };
  if (spread_ == Spread::later) {
    spread_ = Spread::soon;
    loop_.after(spread_pause, [this] {
      spread_ = Spread::now;
      pump();
    });
  }
  if (std::ranges::none_of(members_, is_connecting))
    spread_ = Spread::now;
  pump();
}

/// Sends jobs to hosts in their order, and says what the rest waits for.
void SshJobs::pump() {
  while (!queue_.empty()) {
    const auto name = queue_.front();
    auto& job = jobs_.at(name);
    if (auto problem = ending_ ? "terminated before it started" : lack_for(job);
        !problem.empty()) {
      queue_.pop_front();
      close(name, {.kind = JobEvent::Kind::failed, .job = name, .detail = problem});
      continue;
    }
    job.at = spread_ == Spread::now ? place_for(job) : nullptr;
    if (!job.at)
      break;
    queue_.pop_front();
    job.at->taken += job.slots;
    job.at->gpus_taken += job.gpus;
    if (!job.waits_for.empty()) // It waits no more.
      handler_.event({.kind = JobEvent::Kind::waits, .job = name});
    job.at->host->create(std::move(job.spec));
  }
  say_what_is_waited_for();
}

void SshJobs::say_what_is_waited_for() {
  std::size_t slots = 0, up = 0, down = 0;
  for (auto& member : members_) {
    slots += member->host->is_up() ? member->host->max_slots() : 0;
    up += member->host->is_up() ? 1 : 0;
    down += member->host->has_failed() ? 1 : 0;
  }
  JobEvent event;
  event.kind = JobEvent::Kind::waits;
  if (down == members_.size()) {
    event.detail = down_in_words();
  } else if (up == 0 || spread_ != Spread::now) {
    event.wait = JobEvent::Wait::turn;
    event.detail = "connecting to " + plural(members_.size(), "host");
  } else {
    event.wait = JobEvent::Wait::room;
    event.detail =
      "all " + plural(slots, "slot") + " of " + plural(up, "host") + " are taken";
  }
  for (auto& name : queue_)
    if (auto& job = jobs_.at(name); job.waits_for != event.detail) {
      job.waits_for = event.detail;
      event.job = name;
      handler_.event(event);
    }
}

/// Returns the host that has room for the job and the largest part of its slots free:
/// below `slots`, if there is one, or else below `max_slots`.
SshJobs::Member* SshJobs::place_for(const Job& job) {
  const auto emptiest = [&](auto slots_of) {
    Member* best = nullptr;
    double best_part = 0;
    for (auto& member : members_) {
      const auto& host = *member->host;
      if (!host.is_up() || host.gpus() - member->gpus_taken < job.gpus ||
          member->taken + job.slots > slots_of(host))
        continue;
      const auto part =
        1 - static_cast<double>(member->taken) / static_cast<double>(slots_of(host));
      if (part > best_part) {
        best = member.get();
        best_part = part;
      }
    }
    return best;
  };
  auto* place = emptiest([](const Host& host) { return host.slots(); });
  return place ? place : emptiest([](const Host& host) { return host.max_slots(); });
}

/// Returns why the job can never run, as far as that is known; empty if it may.
std::string SshJobs::lack_for(const Job& job) const {
  const auto is = [](auto test) {
    return [test](auto& member) { return test(*member->host); };
  };
  // Hosts that were in use are waited for.
  if (!ran_jobs_ &&
      std::ranges::all_of(members_, is([](auto& host) { return host.has_failed(); })))
    return down_in_words();
  if (!std::ranges::all_of(members_, is([](auto& host) { return host.is_up(); })))
    return {};
  if (std::ranges::none_of(members_, is([&](auto& host) {
                             return host.max_slots() >= job.slots &&
                                    host.gpus() >= job.gpus;
                           })))
    return "it asks for " + plural(job.slots, "cpu") + " and " +
           plural(static_cast<std::size_t>(job.gpus), "GPU") +
           ", and no host has as many";
  return {};
}

std::string SshJobs::down_in_words() const {
  std::string words = "no host can be reached";
  for (auto& member : members_)
    words += (&member == &members_.front() ? ": " : "; ") + member->host->name() + ": " +
             member->host->problem();
  return words;
}

void SshJobs::terminate(const std::string& name, std::chrono::milliseconds grace) {
  const auto job = jobs_.find(name);
  if (job == jobs_.end())
    return;
  if (job->second.at)
    return job->second.at->host->terminate(name, grace);
  std::erase(queue_, name);
  close(name, {.kind = JobEvent::Kind::failed,
               .job = name,
               .detail = "terminated before it started"});
}

void SshJobs::end_all() {
  ending_ = true;
  pump();
  std::vector<std::string> names;
  for (auto& [name, job] : jobs_)
    names.push_back(name);
  for (auto& name : names)
    terminate(name, std::chrono::milliseconds(0));
}

void SshJobs::close() {
  for (auto& member : members_)
    member->host->close();
}

void SshJobs::on_event(const JobEvent& event) {
  if (event.is_last()) {
    auto last = event;
    if (auto job = jobs_.find(event.job); // "killed by SIGKILL on a"
        job != jobs_.end() && job->second.at && event.kind == JobEvent::Kind::ended &&
        !event.detail.empty())
      last.detail += " on " + job->second.at->host->name();
    close(event.job, last);
    return pump();
  }
  ran_jobs_ = ran_jobs_ || event.kind == JobEvent::Kind::started;
  if (jobs_.contains(event.job))
    handler_.event(event);
}

/// The jobs of a lost host are lost, whatever became of them there: a host that lives
/// ends them when its agent has heard nothing for the lease.
void SshJobs::on_down(Member& member, const std::string& problem) {
  std::vector<std::string> lost;
  for (auto& [name, job] : jobs_)
    if (job.at == &member)
      lost.push_back(name);
  for (auto& name : lost)
    close(name, {.kind = JobEvent::Kind::ended,
                 .job = name,
                 .detail = "host " + member.host->name() + " lost: " + problem,
                 .disrupted = true,
                 .confirmed = false});
  pump();
}

bool SshJobs::write(const std::string& name, std::string_view text) {
  if (auto job = jobs_.find(name); job != jobs_.end())
    output_.write(job->second.serial, text);
  if (output_.has_room())
    return true;
  await_room();
  return false;
}

/// Lets the agents send more once stderr has taken what came.
void SshJobs::await_room() {
  if (awaits_room_)
    return;
  awaits_room_ = true;
  loop_.after(room_pause, [this] {
    awaits_room_ = false;
    if (!output_.has_room())
      return await_room();
    for (auto& member : members_)
      member->host->take_more();
  });
}

/// Reports a job's last event.
void SshJobs::close(const std::string& name, const JobEvent& event) {
  const auto found = jobs_.find(name);
  if (found == jobs_.end())
    return;
  const auto job = std::move(found->second);
  jobs_.erase(found);
  if (job.at) {
    job.at->taken -= job.slots;
    job.at->gpus_taken -= job.gpus;
  }
  output_.close(job.serial);
  handler_.closed(job.serial);
  handler_.event(event);
}

} // namespace fiber::backends::ssh
