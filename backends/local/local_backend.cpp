// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_backend.hpp"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <system_error>

#include "backends/local/descriptor_limit.hpp"
#include "backends/errors.hpp"
#include "backends/local/local_jobs.hpp"
#include "wire/log.hpp"

namespace fiber::backends {

namespace local {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds end_patience(10000); // Then the destructor gives up, and says so.

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
  LocalJobs::Handler handler();
  void discard(const std::string& name);

  Watcher watcher_;
  std::mutex mutex_; // Guards the rest up to jobs_.
  std::condition_variable changed_;
  std::set<std::string> names_;            // Ever used.
  std::map<JobId, std::uint64_t> serials_; // Until forget().
  std::map<std::uint64_t, JobId> alive_;
  std::uint64_t last_serial_ = 0;
  DescriptorLimit limit_;
  bool zygote_there_ = false;
  std::atomic<bool> warned_ = false; // Of resources.

  Output output_;
  Loop loop_;
  LocalJobs jobs_; // On the loop's thread only.
};

LocalBackend::LocalBackend(LocalOptions options)
  : output_(options.forward_output),
    jobs_(loop_, output_,
          Program::resolve(std::move(options.executable), std::move(options.argv)),
          options.plain_spawn, handler()) {}

LocalBackend::~LocalBackend() {
  loop_.post([this] { jobs_.end_all(); });
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, end_patience, [this] { return alive_.empty(); }))
      log().warn("local: {} jobs have not ended after SIGKILL", alive_.size());
  }
  loop_.post([this] { jobs_.close_zygote(); });
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, end_patience, [this] { return !zygote_there_; });
  }
  loop_.stop();
  output_.stop(); // It posts to the loop.
}

LocalJobs::Handler LocalBackend::handler() {
  LocalJobs::Handler handler;
  handler.event = [this](const JobEvent& event) {
    if (watcher_)
      watcher_(event);
  };
  handler.closed = [this](std::uint64_t serial) {
    std::lock_guard lock(mutex_);
    alive_.erase(serial);
    changed_.notify_all();
  };
  handler.zygote = [this](bool there) {
    std::lock_guard lock(mutex_);
    zygote_there_ = there;
    changed_.notify_all();
  };
  return handler;
}

Job LocalBackend::create(JobSpec spec) {
  if ((spec.resources.memory_mb > 0 || spec.resources.gpu > 0) && !warned_.exchange(true))
    log().warn("local: memory_mb {} and gpu {} were asked for but are not enforced here",
               spec.resources.memory_mb, spec.resources.gpu);
  auto job = std::make_shared<LocalJob>();
  job->descriptors = limit_.usual();
  Job result{.id = spec.name, .link = {}, .page = nullptr};
  {
    std::lock_guard lock(mutex_);
    if (!names_.insert(spec.name).second)
      throw EngineError("create job", EEXIST,
                        "this session already had a job named \"" + spec.name + "\"");
    limit_.make_room(alive_.size());
  }
  try {
    if (spec.link)
      std::tie(result.link, job->link) = make_socket_pair(SOCK_STREAM);
    if (spec.page_bytes > 0)
      result.page = job->page = SharedPage::create(spec.page_bytes);
  } catch (const EngineError& error) {
    discard(spec.name);
    throw EngineError("create job", error.status(), error.detail());
  } catch (const std::system_error& error) {
    discard(spec.name);
    throw engine_error("create job", error.code().value());
  }
  job->spec = std::move(spec);
  {
    std::lock_guard lock(mutex_);
    job->serial = ++last_serial_;
    serials_[result.id] = job->serial;
    alive_[job->serial] = result.id;
  }
  loop_.post([this, job] { jobs_.admit(job); });
  return result;
}

/// The job never was; its name may be asked for again.
void LocalBackend::discard(const std::string& name) {
  std::lock_guard lock(mutex_);
  names_.erase(name);
}

void LocalBackend::terminate(const JobId& id, milliseconds grace) {
  std::lock_guard lock(mutex_);
  auto serial = serials_.find(id);
  if (serial == serials_.end())
    return;
  loop_.post([this, serial = serial->second, grace] { jobs_.terminate(serial, grace); });
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

} // namespace

} // namespace local

std::unique_ptr<Backend> make_local(LocalOptions options) {
  return std::make_unique<local::LocalBackend>(std::move(options));
}

} // namespace fiber::backends
