// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/slurm_backend.hpp"

#include <utility>

#include "backends/engine/job_table.hpp"
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
constexpr std::size_t descriptors_per_job = 1; // The link.

class SlurmBackend final : public Backend {
public:
  explicit SlurmBackend(const SlurmOptions& options);
  ~SlurmBackend() override;

  std::string name() const override { return "slurm"; }
  std::string driver_address() const override { return cluster_.address; }
  std::size_t min_start_window() const override { return 1024; }
  void watch(Watcher watcher) override { watcher_ = std::move(watcher); }
  Job create(JobSpec spec) override;
  void terminate(const JobId& job, milliseconds grace) override;
  std::string logs(const JobId& job) override;
  void forget(const JobId& job) override;
  std::vector<JobId> list() override { return table_.list(); }

private:
  JobServices job_services();
  void say_alive();

  const SlurmOptions options_;
  Watcher watcher_;
  JobTable table_{descriptors_per_job};
  Output output_;
  OutputFiles files_{output_};
  Loop loop_;
  Commands commands_{loop_, clean_environment()};
  const ClusterInfo cluster_;
  const SessionFolder folder_;
  Guard guard_;
  SlurmJobs jobs_;
};

SlurmBackend::SlurmBackend(const SlurmOptions& options)
  : options_(options), output_(options.forward_output, options.terminal),
    cluster_(find_cluster(commands_, options.partition)),
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
          .event =
            [this](const JobEvent& event) {
              if (watcher_)
                watcher_(event);
            },
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

void SlurmBackend::forget(const JobId& id) {
  if (auto serial = table_.forget(id))
    output_.forget(serial);
}

} // namespace

} // namespace slurm

std::unique_ptr<Backend> make_slurm(const SlurmOptions& options) {
  return std::make_unique<slurm::SlurmBackend>(options);
}

} // namespace fiber::backends
