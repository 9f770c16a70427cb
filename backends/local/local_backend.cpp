// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_backend.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <set>
#include <system_error>

#include "backends/local/errors.hpp"
#include "backends/local/local_job.hpp"
#include "backends/local/zygote_client.hpp"
#include "wire/log.hpp"

namespace fiber::backends {

namespace local {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t window = 32; // Unanswered requests: bounds descriptors in flight.
constexpr int most_attempts =
  3; // Starts of one job, and of a zygote that is being killed.
constexpr milliseconds output_patience(250); // Somebody may hold a dead job's pipe.
constexpr milliseconds end_patience(10000);

using JobPtr = std::shared_ptr<LocalJob>;

/// "; its last output: .." or nothing.
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

class LocalBackend final : public Backend {
public:
  explicit LocalBackend(LocalOptions options);
  ~LocalBackend() override;

  std::string name() const override { return "local"; }
  void watch(Watcher watcher) override { watcher_ = std::move(watcher); }
  Job create(JobSpec spec) override;
  void terminate(const JobId& job, milliseconds grace) override;
  std::string logs(const JobId& job) override;
  void forget(const JobId& job) override;
  std::vector<JobId> list() override;

private:
  // On the loop's thread:
  void admit(const JobPtr& job);
  void pump();
  bool ask(const JobPtr& job);
  void start_zygote();
  ZygoteClient::Handler zygote_handler();
  void spawn_plain(const JobPtr& job);
  void hear_plain(const JobPtr& job);
  void on_plain_exit(const JobPtr& job);
  void on_started(const JobPtr& job, int pid, UniqueFd pidfd);
  void on_zygote_lost(std::uint64_t number, bool was_ready, const Exit& exit,
                      const std::string& output);
  void end(const JobPtr& job, const Exit& exit);
  void fail(const JobPtr& job, const std::string& detail);
  void fail_queued(const std::string& detail);
  void close(const JobPtr& job, JobEvent event);
  void begin_terminate(const JobPtr& job, milliseconds grace);
  void begin_end();
  JobPtr find(std::uint64_t serial) const;
  void emit(const JobEvent& event) {
    if (watcher_)
      watcher_(event);
  }

  const Program program_;
  Watcher watcher_;

  std::mutex mutex_; // Guards these four.
  std::condition_variable all_ended_;
  std::set<std::string> names_;            // Ever used.
  std::map<JobId, std::uint64_t> serials_; // Until forget().
  std::map<std::uint64_t, JobId> alive_;
  bool zygote_gone_ = true;

  // On the loop's thread only:
  std::map<std::uint64_t, JobPtr> jobs_;
  std::deque<JobPtr> queue_;
  std::size_t asked_ = 0; // Of the zygote, unanswered.
  std::shared_ptr<ZygoteClient> zygote_;
  std::uint64_t zygote_number_ = 0;
  int zygote_failures_ = 0; // In a row, before it was ready.
  bool plain_;
  bool ending_ = false;

  std::atomic<std::uint64_t> last_serial_ = 0;
  Output output_;
  Loop loop_;
};

LocalBackend::LocalBackend(LocalOptions options)
  : program_(Program::resolve(std::move(options.executable), std::move(options.argv))),
    plain_(options.plain_spawn), output_(options.forward_output) {}

LocalBackend::~LocalBackend() {
  loop_.post([this] { begin_end(); });
  {
    std::unique_lock lock(mutex_);
    if (!all_ended_.wait_for(lock, end_patience, [this] { return alive_.empty(); }))
      log().warn("local: {} jobs have not ended after SIGKILL", alive_.size());
  }
  loop_.post([this] {
    if (zygote_)
      zygote_->close();
  });
  {
    std::unique_lock lock(mutex_);
    all_ended_.wait_for(lock, end_patience, [this] { return zygote_gone_; });
  }
  loop_.stop();
}

Job LocalBackend::create(JobSpec spec) {
  auto job = std::make_shared<LocalJob>();
  Job result{.id = spec.name, .link = {}, .page = nullptr};
  {
    std::lock_guard lock(mutex_);
    if (!names_.insert(spec.name).second)
      throw EngineError("create job", EEXIST,
                        "this session already had a job named \"" + spec.name + "\"");
  }
  try {
    if (spec.link)
      std::tie(result.link, job->link) = make_socket_pair(SOCK_STREAM);
    if (spec.page_bytes > 0)
      result.page = job->page = SharedPage::create(spec.page_bytes);
  } catch (const std::exception& error) {
    std::lock_guard lock(mutex_);
    names_.erase(spec.name); // Never was; may be asked for again.
    auto* system = dynamic_cast<const std::system_error*>(&error);
    if (!system)
      throw;
    throw engine_error("create job", system->code().value());
  }
  job->serial = ++last_serial_;
  job->spec = std::move(spec);
  {
    std::lock_guard lock(mutex_);
    serials_[result.id] = job->serial;
    alive_[job->serial] = result.id;
  }
  loop_.post([this, job] { admit(job); });
  return result;
}

void LocalBackend::terminate(const JobId& id, milliseconds grace) {
  std::lock_guard lock(mutex_);
  auto serial = serials_.find(id);
  if (serial == serials_.end())
    return;
  loop_.post([this, serial = serial->second, grace] {
    if (auto job = find(serial))
      begin_terminate(job, grace);
  });
}

std::string LocalBackend::logs(const JobId& id) {
  std::uint64_t serial = 0;
  {
    std::lock_guard lock(mutex_);
    if (auto found = serials_.find(id); found != serials_.end())
      serial = found->second;
  }
  return output_.last(serial);
}

void LocalBackend::forget(const JobId& id) {
  std::lock_guard lock(mutex_);
  auto serial = serials_.find(id);
  if (serial == serials_.end() || alive_.contains(serial->second))
    return;
  output_.forget(serial->second);
  serials_.erase(serial);
}

std::vector<JobId> LocalBackend::list() {
  std::lock_guard lock(mutex_);
  std::vector<JobId> ids;
  for (auto& [serial, id] : alive_)
    ids.push_back(id);
  return ids;
}

JobPtr LocalBackend::find(std::uint64_t serial) const {
  auto job = jobs_.find(serial);
  return job == jobs_.end() ? nullptr : job->second;
}

// -- starting
// -----------------------------------------------------------------------------

void LocalBackend::admit(const JobPtr& job) {
  jobs_[job->serial] = job;
  queue_.push_back(job);
  pump();
}

void LocalBackend::pump() {
  if (plain_) {
    for (; !queue_.empty(); queue_.pop_front())
      spawn_plain(queue_.front());
    return;
  }
  if (queue_.empty() || ending_)
    return;
  if (!zygote_)
    return start_zygote();
  while (zygote_->ready() && asked_ < window && !queue_.empty()) {
    auto job = queue_.front();
    queue_.pop_front();
    if (!ask(job))
      return;
  }
}

/// False: put back into the queue until the zygote has answered or is gone.
bool LocalBackend::ask(const JobPtr& job) {
  int error = 0;
  try {
    job->prepare(output_);
    std::vector<int> fds;
    auto message = job->request(fds);
    error = zygote_->request(message, fds);
  } catch (const EngineError& refusal) {
    fail(job, refusal.what());
    return true;
  }
  if (error != 0 && (asked_ > 0 || error == EPIPE || error == ECONNRESET)) {
    queue_.push_front(job);
    return false;
  }
  if (error != 0) {
    fail(job, engine_error("ask the zygote", error).what());
    return true;
  }
  job->state = LocalJob::State::asked;
  job->zygote = zygote_number_;
  ++job->attempts;
  ++asked_;
  return true;
}

void LocalBackend::start_zygote() {
  auto number = ++zygote_number_;
  asked_ = 0;
  try {
    zygote_ =
      ZygoteClient::start(loop_, output_, ++last_serial_, program_, zygote_handler());
  } catch (const EngineError& error) {
    return fail_queued(error.what());
  }
  log().debug("local: zygote {} is process {}", number, zygote_->pid());
  std::lock_guard lock(mutex_);
  zygote_gone_ = false;
}

ZygoteClient::Handler LocalBackend::zygote_handler() {
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
    --asked_;
    if (auto job = find(serial))
      on_started(job, pid, std::move(pidfd));
    pump();
  };
  handler.ended = [this](std::uint64_t serial, const Exit& exit) {
    auto job = find(serial);
    if (!job)
      return;
    if (job->state == LocalJob::State::asked) // Killed before it could say a word.
      --asked_;
    end(job, exit);
    pump();
  };
  handler.fork_failed = [this](std::uint64_t serial, int error) {
    --asked_;
    if (auto job = find(serial))
      fail(job, engine_error("fork", error).what());
    pump();
  };
  handler.lost = [this, number = zygote_number_](bool was_ready, const Exit& exit,
                                                 const std::string& output) {
    on_zygote_lost(number, was_ready, exit, output);
  };
  return handler;
}

void LocalBackend::spawn_plain(const JobPtr& job) {
  try {
    job->prepare(output_);
    auto [ours, theirs] = make_socket_pair(SOCK_SEQPACKET);
    std::vector<int> fds;
    auto output = std::move(job->output); // Its stdio already.
    auto message = job->request(fds);
    if (int error = send_message(ours.get(), message, fds, MSG_DONTWAIT))
      throw engine_error("hand over start message", error);
    job->pid = spawn(program_, "job", theirs.get(), output.get());
    job->control = std::move(ours);
  } catch (const EngineError& refusal) {
    return fail(job, refusal.what());
  }
  job->plain = true;
  job->state = LocalJob::State::asked;
  job->pidfd = open_pidfd(job->pid);
  job->link.reset();
  loop_.watch(job->control.get(), EPOLLIN,
              [this, job](std::uint32_t) { hear_plain(job); });
  on_exit(loop_, job->pid, job->pidfd.get(), [this, job] { on_plain_exit(job); });
}

void LocalBackend::hear_plain(const JobPtr& job) {
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

void LocalBackend::on_plain_exit(const JobPtr& job) {
  hear_plain(job); // It may have announced itself just before.
  if (job->control) {
    loop_.unwatch(job->control.get());
    job->control.reset();
  }
  auto exit = reap(job->pid);
  if (job->state == LocalJob::State::running || job->terminated)
    return end(job, exit);
  job->state = LocalJob::State::finished;
  output_.finish(job->serial, output_patience, [this, job, exit] {
    loop_.post(
      [this, job, exit] { fail(job, before_init(exit, output_.last(job->serial))); });
  });
}

void LocalBackend::on_started(const JobPtr& job, int pid, UniqueFd pidfd) {
  job->state = LocalJob::State::running;
  job->pid = pid;
  job->pidfd = std::move(pidfd);
  job->started();
  emit({.kind = JobEvent::Kind::started,
        .job = job->spec.name,
        .pid = pid,
        .exit_code = {},
        .detail = {}});
  if (job->terminate)
    begin_terminate(job, *job->terminate);
}

// -- ending
// -------------------------------------------------------------------------------

void LocalBackend::on_zygote_lost(std::uint64_t number, bool was_ready, const Exit& exit,
                                  const std::string& output) {
  zygote_.reset();
  {
    std::lock_guard lock(mutex_);
    zygote_gone_ = true;
  }
  all_ended_.notify_all();
  std::vector<JobPtr> again;
  for (auto& [serial, job] : jobs_) {
    if (job->plain || job->zygote != number)
      continue;
    if (job->state == LocalJob::State::asked) {
      again.push_back(job);
    } else if (job->state == LocalJob::State::running) {
      job->lost_zygote = true;
      on_exit(loop_, job->pid, job->pidfd.get(), [this, job = job] {
        ::kill(-job->pid, SIGKILL);
        end(job, Exit::unknown("zygote lost"));
      });
    }
  }
  if (ending_) {
    for (auto& job : again)
      fail(job, "the session ended");
    return;
  }
  if (was_ready)
    log().warn("local: the zygote is lost ({}); its jobs go on", exit.detail);
  // Nobody announced these, so they never ran: see announce() in zygote.cpp.
  for (auto job = again.rbegin(); job != again.rend(); ++job) {
    (*job)->state = LocalJob::State::queued;
    if ((*job)->attempts < most_attempts)
      queue_.push_front(*job);
    else
      fail(*job, "the zygote died " + std::to_string(most_attempts) +
                   " times while it was starting this job, last " + exit.detail);
  }
  // One that somebody killed is worth another try, one that ended by itself is not.
  if (plain_)
    return pump();
  bool killed = exit.code == -SIGKILL || exit.code == -SIGTERM;
  if (!was_ready && (!killed || ++zygote_failures_ >= most_attempts)) {
    zygote_failures_ = 0;
    return fail_queued(before_init(exit, output));
  }
  pump();
}

void LocalBackend::fail_queued(const std::string& detail) {
  std::deque<JobPtr> queued;
  queued.swap(queue_);
  for (auto& job : queued)
    fail(job, detail);
}

void LocalBackend::fail(const JobPtr& job, const std::string& detail) {
  close(job, {.kind = JobEvent::Kind::failed,
              .job = job->spec.name,
              .pid = 0,
              .exit_code = {},
              .detail = detail});
}

void LocalBackend::end(const JobPtr& job, const Exit& exit) {
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

/// Its last event.
void LocalBackend::close(const JobPtr& job, JobEvent event) {
  job->state = LocalJob::State::finished;
  job->started();
  job->pidfd.reset();
  if (jobs_.erase(job->serial) == 0)
    return;
  if (event.kind == JobEvent::Kind::failed)
    output_.finish(job->serial, milliseconds(0), [] {});
  emit(event);
  std::lock_guard lock(mutex_);
  alive_.erase(job->serial);
  all_ended_.notify_all();
}

void LocalBackend::begin_terminate(const JobPtr& job, milliseconds grace) {
  job->terminated = true;
  switch (job->state) {
  case LocalJob::State::queued:
    std::erase(queue_, job);
    return fail(job, "terminated before it started");
  case LocalJob::State::asked:
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
  // The group's rest is killed by whoever reaps the job, see reap().
  if (grace <= milliseconds(0))
    return send_signal(job->pid, job->pidfd.get(), SIGKILL);
  send_signal(job->pid, job->pidfd.get(), SIGTERM);
  loop_.after(grace, [this, job] {
    if (job->state != LocalJob::State::finished)
      send_signal(job->pid, job->pidfd.get(), SIGKILL);
  });
}

void LocalBackend::begin_end() {
  ending_ = true;
  if (zygote_)
    zygote_->wake();
  auto jobs = jobs_;
  for (auto& [serial, job] : jobs)
    begin_terminate(job, milliseconds(0));
}

} // namespace

} // namespace local

std::unique_ptr<Backend> make_local(LocalOptions options) {
  return std::make_unique<local::LocalBackend>(std::move(options));
}

} // namespace fiber::backends
