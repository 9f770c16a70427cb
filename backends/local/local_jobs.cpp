// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_jobs.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "backends/container/control_group.hpp"
#include "backends/engine/errors.hpp"
#include "backends/local/process_limit.hpp"
#include "base/log.hpp"

namespace fiber::backends::local {

using std::chrono::milliseconds;

namespace {

// Limit on unanswered requests, and so on descriptors in flight.
constexpr std::size_t window = 32;
constexpr int max_attempts = 3; // To start a job, or a zygote that gets killed.
constexpr milliseconds output_patience(250); // A child of the job may hold its pipe.
constexpr Output::Key zygote_keys = Output::Key{1} << 63; // Distinct from serials.

/// Returns "; its last output: .." or an empty string.
std::string last_words(const std::string& output) {
  constexpr std::size_t most = 2000;
  auto end = output.find_last_not_of(" \n\r\t");
  if (end == output.npos)
    return {};
  auto begin = end + 1 - std::min(end + 1, most);
  return "; its last output: " + output.substr(begin, end + 1 - begin);
}

std::string before_init(const Exit& exit, const std::string& output) {
  std::string how = !exit.code       ? "ended (" + exit.detail + ")"
                    : *exit.code < 0 ? "was " + exit.detail
                                     : "ended with " + exit.detail;
  return "the program " + how + " before it reached fiber::init" + last_words(output);
}

} // namespace

LocalJobs::LocalJobs(Loop& loop, Output& output, Program program, bool plain,
                     Handler handler)
  : loop_(loop), output_(output), program_(std::move(program)),
    handler_(std::move(handler)), plain_(plain) {}

LocalJobs::JobPtr LocalJobs::find(std::uint64_t serial) const {
  auto job = jobs_.find(serial);
  return job == jobs_.end() ? nullptr : job->second;
}

void LocalJobs::terminate(std::uint64_t serial, milliseconds grace) {
  if (auto job = find(serial))
    begin_terminate(job, grace);
}

void LocalJobs::close_zygote() {
  if (zygote_)
    zygote_->close();
}

// -- starting --

void LocalJobs::admit(const JobPtr& job) {
  jobs_[job->serial] = job;
  if (job->own_program)
    return spawn_plain(job);
  queue_.push_back(job);
  pump();
}

void LocalJobs::pump() {
  if (plain_) {
    for (; !queue_.empty(); queue_.pop_front())
      spawn_plain(queue_.front());
    return;
  }
  if (queue_.empty() || ending_)
    return;
  if (!zygote_)
    return start_zygote();
  while (zygote_->ready() && requested_ < window && !queue_.empty()) {
    auto job = queue_.front();
    queue_.pop_front();
    if (!request_fork(job))
      return;
  }
}

/// Sends a job's request to the zygote. Returns false if the job is back in the queue
/// until the zygote has answered or ended.
bool LocalJobs::request_fork(const JobPtr& job) {
  int error = 0;
  try {
    job->prepare(output_);
    std::vector<int> fds;
    auto message = job->request(fds);
    error = zygote_->request(message, fds);
  } catch (const EngineError& refusal) {
    if (refusal.status() == EMFILE && requested_ > 0) {
      queue_.push_front(job); // Those that are starting will give descriptors back.
      return false;
    }
    fail(job, refusal.what(), refusal.status());
    return true;
  }
  if (error != 0 && (requested_ > 0 || error == EPIPE || error == ECONNRESET)) {
    queue_.push_front(job);
    return false;
  }
  if (error != 0) {
    fail(job, engine_error("ask the zygote", error).what(), error);
    return true;
  }
  job->state = LocalJob::State::requested;
  job->zygote = zygote_number_;
  ++job->attempts;
  ++requested_;
  return true;
}

void LocalJobs::start_zygote() {
  auto number = ++zygote_number_;
  requested_ = 0;
  try {
    zygote_ = ZygoteClient::start(loop_, output_, zygote_keys + number, program_,
                                  zygote_handler());
  } catch (const EngineError& error) {
    return fail_queued(error.what(), error.status());
  }
  log().debug("local: zygote {} is process {}", number, zygote_->pid());
  handler_.zygote(true);
}

ZygoteClient::Handler LocalJobs::zygote_handler() {
  ZygoteClient::Handler handler;
  handler.ready = [this] {
    zygote_failures_ = 0;
    pump();
  };
  handler.has_threads = [this](int threads) {
    log().warn(
      "local: {} threads run in the program when it reaches fiber::init, so each job "
      "is exec'ed instead of forked: it starts slower and shares no memory",
      threads);
    plain_ = true;
    pump();
  };
  handler.started = [this](std::uint64_t serial, int pid, UniqueFd pidfd) {
    --requested_;
    if (auto job = find(serial))
      on_started(job, pid, std::move(pidfd));
    pump();
  };
  handler.ended = [this](std::uint64_t serial, const Exit& exit) {
    auto job = find(serial);
    if (!job)
      return;
    if (job->state == LocalJob::State::requested) // Killed before it announced itself.
      --requested_;
    end(job, with_reason(*job, exit));
    pump();
  };
  handler.fork_failed = [this](std::uint64_t serial, int error) {
    --requested_;
    if (auto job = find(serial))
      fail(job, "fork: " + fork_error_text(error), error);
    pump();
  };
  handler.lost = [this, number = zygote_number_](bool was_ready, const Exit& exit,
                                                 const std::string& output) {
    on_zygote_lost(number, was_ready, exit, output);
  };
  return handler;
}

void LocalJobs::spawn_plain(const JobPtr& job) {
  try {
    job->prepare(output_);
    auto [ours, theirs] = make_socket_pair(SOCK_SEQPACKET);
    std::vector<int> fds;
    auto output = std::move(job->output); // spawn() makes it the job's stdio.
    auto message = job->request(fds);
    if (int error = send_message(ours.get(), message, fds, MSG_DONTWAIT))
      throw engine_error("hand over start message", error);
    auto program = program_;
    auto variables = job->spec.environment;
    variables.erase("LD_LIBRARY_PATH"); // For its children: begin_job() sets it.
    program.set(variables);
    job->pid = spawn(program, "job", theirs.get(), output.get());
    job->control = std::move(ours);
  } catch (const EngineError& refusal) {
    return fail(job, refusal.what(), refusal.status());
  }
  job->plain = true;
  job->state = LocalJob::State::requested;
  job->pidfd = open_pidfd(job->pid);
  job->link.reset();
  loop_.watch(job->control.get(), EPOLLIN,
              [this, job](std::uint32_t) { on_plain_message(job); });
  on_exit(loop_, job->pid, job->pidfd.get(), [this, job] { on_plain_exit(job); });
}

void LocalJobs::on_plain_message(const JobPtr& job) {
  if (!job->control)
    return;
  auto received = receive_message(job->control.get(), MSG_DONTWAIT);
  if (received.status == Received::Status::nothing)
    return;
  loop_.unwatch(job->control.get());
  job->control.reset();
  if (received.status == Received::Status::message)
    on_started(job, job->pid, std::move(job->pidfd));
}

void LocalJobs::on_plain_exit(const JobPtr& job) {
  on_plain_message(job); // It may have announced itself before its end.
  if (job->control) {
    loop_.unwatch(job->control.get());
    job->control.reset();
  }
  auto exit = with_reason(*job, reap(job->pid));
  if (job->state == LocalJob::State::running || job->terminated)
    return end(job, exit);
  job->state = LocalJob::State::finished;
  output_.finish(job->serial, output_patience, [this, job, exit] {
    loop_.post(
      [this, job, exit] { fail(job, before_init(exit, output_.last(job->serial))); });
  });
}

void LocalJobs::on_started(const JobPtr& job, int pid, UniqueFd pidfd) {
  out_of_memory_kills_ = out_of_memory_kills(); // Earlier kills explain no later end.
  job->state = LocalJob::State::running;
  job->pid = pid;
  job->pidfd = std::move(pidfd);
  job->started();
  handler_.event({.kind = JobEvent::Kind::started,
                  .job = job->spec.name,
                  .pid = pid,
                  .exit_code = {},
                  .detail = {}});
  if (job->terminate)
    begin_terminate(job, *job->terminate);
}

// -- ending --

void LocalJobs::on_zygote_lost(std::uint64_t number, bool was_ready, const Exit& exit,
                               const std::string& output) {
  zygote_.reset();
  handler_.zygote(false);
  if (was_ready && !ending_)
    log().warn("local: the zygote is lost ({}); its jobs go on", exit.detail);
  auto jobs = jobs_;
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) // Keeps the queue's order.
    if (!job->second->plain && job->second->zygote == number) {
      if (job->second->state == LocalJob::State::requested)
        retry(job->second, exit);
      else if (job->second->state == LocalJob::State::running)
        adopt(job->second);
    }
  // Retries only if the zygote was killed: one that ended by itself would do so again.
  bool killed = exit.code == -SIGKILL || exit.code == -SIGTERM;
  if (!plain_ && !was_ready && (!killed || ++zygote_failures_ >= max_attempts)) {
    zygote_failures_ = 0;
    return fail_queued(before_init(exit, output));
  }
  pump();
}

/// Watches a job whose zygote has died: it runs on, but its exit code will be unknown.
void LocalJobs::adopt(const JobPtr& job) {
  on_exit(loop_, job->pid, job->pidfd.get(), [this, job] {
    if (job->pid > 1)
      ::kill(-job->pid, SIGKILL); // The rest of its group.
    end(job, Exit::unknown("zygote lost"));
  });
}

/// Retries a job whose zygote died while starting it. The job did not announce itself, so
/// it never ran: see announce() in zygote.cpp.
void LocalJobs::retry(const JobPtr& job, const Exit& zygote_exit) {
  if (ending_ || job->terminate)
    return fail(job, "terminated before it started");
  if (job->attempts >= max_attempts)
    return fail(job, "the zygote died " + std::to_string(max_attempts) +
                       " times while it was starting this job, last " +
                       zygote_exit.detail);
  job->state = LocalJob::State::queued;
  queue_.push_front(job);
}

/// Adds "out of memory" to `exit` if that was the reason. The kernel only counts these
/// kills per control group, and jobs share ours.
Exit LocalJobs::with_reason(const LocalJob& job, Exit exit) {
  if (exit.code != -SIGKILL || !out_of_memory_kills_)
    return exit;
  if (auto kills = out_of_memory_kills(); kills && *kills > *out_of_memory_kills_) {
    ++*out_of_memory_kills_; // Further kills may concern jobs not yet reaped.
    if (!job.terminated)
      exit.detail += " (out of memory)";
  }
  return exit;
}

void LocalJobs::fail_queued(const std::string& detail, int status) {
  std::deque<JobPtr> queued;
  queued.swap(queue_);
  for (auto& job : queued)
    fail(job, detail, status);
}

void LocalJobs::fail(const JobPtr& job, const std::string& detail, int status) {
  close(job, {.kind = JobEvent::Kind::failed,
              .job = job->spec.name,
              .pid = 0,
              .exit_code = {},
              .detail = detail,
              .status = status});
}

void LocalJobs::end(const JobPtr& job, const Exit& exit) {
  if (job->state == LocalJob::State::finished)
    return;
  if (job->pidfd)
    loop_.unwatch(job->pidfd.get());
  job->state = LocalJob::State::finished;
  job->started();
  output_.finish(job->serial, output_patience, [this, job, exit] {
    loop_.post([this, job, exit] {
      close(job, {.kind = JobEvent::Kind::ended,
                  .job = job->spec.name,
                  .pid = 0,
                  .exit_code = exit.code,
                  .detail = exit.detail});
    });
  });
}

/// Reports a job's last event.
void LocalJobs::close(const JobPtr& job, const JobEvent& event) {
  job->state = LocalJob::State::finished;
  job->started();
  job->pidfd.reset();
  if (jobs_.erase(job->serial) == 0)
    return;
  if (event.kind == JobEvent::Kind::failed)
    output_.finish(job->serial, milliseconds(0), [] {});
  handler_.closed(job->serial);
  handler_.event(event);
}

void LocalJobs::begin_terminate(const JobPtr& job, milliseconds grace) {
  job->terminated = true;
  switch (job->state) {
  case LocalJob::State::queued:
    std::erase(queue_, job);
    return fail(job, "terminated before it started");
  case LocalJob::State::requested:
    if (!job->plain) {
      job->terminate = std::min(grace, job->terminate.value_or(grace));
      return;
    }
    break;
  case LocalJob::State::running:
    break;
  case LocalJob::State::finished:
    return;
  }
  // Whoever reaps the job kills the rest of its group: see reap().
  if (grace <= milliseconds(0))
    return send_signal(job->pid, job->pidfd.get(), SIGKILL);
  send_signal(job->pid, job->pidfd.get(), SIGTERM);
  loop_.after(grace, [job] {
    if (job->state != LocalJob::State::finished)
      send_signal(job->pid, job->pidfd.get(), SIGKILL);
  });
}

void LocalJobs::end_all() {
  ending_ = true;
  if (zygote_)
    zygote_->wake();
  auto jobs = jobs_;
  for (auto& [serial, job] : jobs)
    begin_terminate(job, milliseconds(0));
}

} // namespace fiber::backends::local
