// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_backend.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>

#include "backends/engine/errors.hpp"
#include "backends/local/core_table.hpp"
#include "backends/local/gpu_table.hpp"
#include "backends/local/local_jobs.hpp"
#include "backends/output/backend_with_output.hpp"
#include "backends/resource_variables.hpp"
#include "base/log.hpp"

namespace fiber::backends {

namespace local {

namespace {

using std::chrono::milliseconds;

// Then the destructor gives up with a warning.
constexpr milliseconds end_patience(10000);

/// What the zygote is started with. Jobs of one core are forked from it.
constexpr JobResources one_core{.gpu = 1};

Program program_of(const LocalOptions& options, const ResourceVariables& variables) {
  auto program = Program::resolve(options.executable, options.argv);
  program.set(variables.of(one_core));
  if (!options.session.empty()) {
    // A driver that a task has started has a session of its own.
    program.set({{session_variable, options.session}});
  }
  return program;
}

class LocalBackend final : public BackendWithOutput {
public:
  explicit LocalBackend(const LocalOptions& options);
  ~LocalBackend() override;

  std::string name() const override { return "local"; }
  Job create(JobSpec spec) override;
  void terminate(const JobId& job, milliseconds grace) override;

private:
  LocalJobs::Handler handler();
  void give_back(std::uint64_t serial);

  std::mutex mutex_; // Guards zygote_there_.
  std::condition_variable changed_;
  bool zygote_there_ = false;
  const ResourceVariables variables_;
  GpuTable gpus_;
  CoreTable cores_{CoreTable::here()};

  Loop loop_;
  LocalJobs jobs_; // Used on the loop's thread only.
};

LocalBackend::LocalBackend(const LocalOptions& options)
  : BackendWithOutput(descriptors_per_job, options.forward_output, options.terminal,
                      options.on_output),
    variables_(options.hide_gpus), gpus_(Gpus::here(), options.jobs_per_gpu),
    jobs_(loop_, output_, program_of(options, variables_), options.plain_spawn,
          handler()) {}

LocalBackend::~LocalBackend() {
  loop_.post([this] { jobs_.end_all(); });
  if (auto left = table_.wait_for_none(end_patience))
    log().warn("local: {} jobs have not ended after SIGKILL", left);
  loop_.post([this] { jobs_.close_zygote(); });
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, end_patience, [this] { return !zygote_there_; });
  }
  loop_.stop();
  output_.stop(); // After the loop, to which it posts.
}

LocalJobs::Handler LocalBackend::handler() {
  LocalJobs::Handler handler;
  handler.event = [this](const JobEvent& event) { report(event); };
  handler.closed = [this](std::uint64_t serial) {
    give_back(serial);
    table_.close(serial);
  };
  handler.zygote = [this](bool there) {
    std::lock_guard lock(mutex_);
    zygote_there_ = there;
    changed_.notify_all();
  };
  return handler;
}

void LocalBackend::give_back(std::uint64_t serial) {
  gpus_.give_back(serial);
  cores_.give_back(serial);
}

Job LocalBackend::create(JobSpec spec) {
  auto job = std::make_shared<LocalJob>();
  job->descriptors = table_.usual_file_limit();
  Job result{.id = spec.name, .link = {}, .page = nullptr};
  job->serial = table_.admit(spec.name);
  try {
    if (spec.resources.gpu > 0)
      spec.environment.merge(gpus_.take(job->serial, spec.resources.gpu));
    job->own_program =
      variables_.threads_of(spec.resources) != variables_.threads_of(one_core);
    spec.environment.merge(variables_.of(spec.resources));
    job->cores = cores_.take(job->serial, spec.resources.cpu);
    if (spec.link)
      std::tie(result.link, job->link) = make_socket_pair(SOCK_STREAM);
    if (spec.page_bytes > 0)
      result.page = job->page = SharedPage::create(spec.page_bytes);
  } catch (const EngineError& error) {
    give_back(job->serial);
    table_.discard(spec.name);
    throw EngineError("create job", error.status(), error.detail());
  } catch (const std::system_error& error) {
    give_back(job->serial);
    table_.discard(spec.name);
    throw engine_error("create job", error.code().value());
  }
  job->spec = std::move(spec);
  loop_.post([this, job] { jobs_.admit(job); });
  return result;
}

void LocalBackend::terminate(const JobId& id, milliseconds grace) {
  if (auto serial = table_.find(id))
    loop_.post([this, serial, grace] { jobs_.terminate(serial, grace); });
}

} // namespace

} // namespace local

std::unique_ptr<Backend> make_local(const LocalOptions& options) {
  return std::make_unique<local::LocalBackend>(options);
}

} // namespace fiber::backends
