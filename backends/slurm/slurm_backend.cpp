// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/slurm_backend.hpp"

#include <utility>

#include "backends/output/backend_with_output.hpp"
#include "backends/slurm/cluster.hpp"
#include "backends/slurm/guard.hpp"
#include "backends/slurm/slurm_jobs.hpp"
#include "backends/slurm/strangers.hpp"
#include "base/log.hpp"
#include "base/random_id.hpp"

namespace fiber::backends {

namespace slurm {

namespace {

using std::chrono::milliseconds;

// Then the destructor gives up with a warning.
constexpr milliseconds end_patience(60000);

class SlurmBackend final : public BackendWithOutput {
public:
  explicit SlurmBackend(const SlurmOptions& options);
  ~SlurmBackend() override;

  std::string name() const override { return "slurm"; }
  std::string driver_address() const override { return cluster_.address; }
  std::size_t min_start_window() const override { return 1024; }
  Job create(JobSpec spec) override;
  void terminate(const JobId& job, milliseconds grace) override;
  std::string logs(const JobId& job) override;

private:
  JobServices job_services();
  void say_alive();

  const SlurmOptions options_;
  OutputFiles files_{output_};
  Loop loop_;
  Commands commands_{loop_, clean_environment()};
  const ClusterInfo cluster_;
  const SessionFolder folder_;
  Guard guard_;
  SlurmJobs jobs_;
};

SlurmBackend::SlurmBackend(const SlurmOptions& options)
  : BackendWithOutput(descriptors_per_job, options.forward_output, options.terminal),
    options_(options), cluster_(find_cluster(commands_, options.partition)),
    folder_(options.directory.empty() ? usual_base() : options.directory,
            options.session.empty() ? random_id() : options.session,
            std::chrono::ceil<std::chrono::seconds>(options.lease)),
    guard_(name_prefix(folder_.session()), folder_.path(), clean_environment()),
    jobs_(job_services()) {
  log().info("backend slurm: cluster {}, Slurm {}, files in {}", cluster_.name,
             cluster_.version, folder_.path());
  write_driver_note(folder_, own_note());
  remove_strangers(commands_, folder_);
  loop_.post([this] { say_alive(); });
}

SlurmBackend::~SlurmBackend() {
  loop_.post([this] { jobs_.end_all(); });
  auto left = table_.wait_for_none(end_patience);
  loop_.stop(); // Its thread uses no member after this.
  log().debug("slurm: {} commands in this session", commands_.count());
  if (left == 0) {
    folder_.remove();
    return;
  }
  log().warn("slurm: {} jobs have not ended; a process in the background goes on to "
             "cancel those whose names begin with {}",
             left, name_prefix(folder_.session()));
  guard_.take_over();
}

JobServices SlurmBackend::job_services() {
  return {.loop = loop_,
          .output = output_,
          .files = files_,
          .commands = commands_,
          .folder = folder_,
          .options = options_,
          .resource_variables = ResourceVariables(options_.hide_gpus),
          .largest_array = cluster_.largest_array,
          .file_limit = table_.usual_file_limit(),
          .event = [this](const JobEvent& event) { report(event); },
          .closed = [this](std::uint64_t serial) { table_.close(serial); }};
}

void SlurmBackend::say_alive() {
  folder_.touch();
  loop_.after(options_.lease / 4, [this] { say_alive(); });
}

Job SlurmBackend::create(JobSpec spec) {
  auto id = spec.name;
  auto serial = table_.admit(id);
  output_.add(serial, id);
  loop_.post([this, serial, spec = std::move(spec)]() mutable {
    jobs_.create(serial, std::move(spec));
  });
  return {.id = id, .link = {}, .page = nullptr};
}

void SlurmBackend::terminate(const JobId& id, milliseconds grace) {
  if (auto serial = table_.find(id))
    loop_.post([this, serial, grace] { jobs_.terminate(serial, grace); });
}

std::string SlurmBackend::logs(const JobId& id) {
  auto serial = table_.find(id);
  files_.read(serial);
  return output_.last(serial);
}

} // namespace

} // namespace slurm

std::unique_ptr<Backend> make_slurm(const SlurmOptions& options) {
  return std::make_unique<slurm::SlurmBackend>(options);
}

} // namespace fiber::backends
