// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <utility>

#include <unistd.h>

#include "backends/container/container_entry.hpp"
#include "backends/engine/spawn.hpp"
#include "backends/registry.hpp"
#include "backends/slurm/slurm_backend.hpp"
#include "backends/slurm/submission.hpp"
#include "base/trusted_file.hpp"

namespace fiber::backends {
namespace {

/// Slurm replaces '%' in the paths of output files.
bool is_folder(const std::string& path) {
  return path.starts_with('/') && path.find_first_of("%\\\n") == path.npos;
}

std::string own_allocation() {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (!job || find_in_path("sbatch").empty())
    return {};
  return std::string("this process is in Slurm's job ") + job;
}

std::unique_ptr<Backend> make_slurm_backend(const BackendOptions& options) {
  SlurmOptions slurm;
  slurm.partition = options.value("slurm_partition");
  slurm.account = options.value("slurm_account");
  slurm.qos = options.value("slurm_qos");
  slurm.time = options.value("slurm_time");
  slurm.constraint = options.value("slurm_constraint");
  slurm.gres = options.value("slurm_gres");
  slurm.arguments = options.value("slurm_arguments");
  slurm.directory = options.value("slurm_directory");
  slurm.environment = options.environment;
  slurm.hide_gpus = options.hide_gpus;
  slurm.forward_output = options.forward_output;
  slurm.terminal = options.terminal;
  slurm.session = options.session;
  slurm.lease = options.lease;
  return make_slurm(slurm);
}

std::optional<JobEntry> enter_slurm_job(const std::string& role, const std::string&) {
  if (role != slurm::slurm_role)
    return {};
  auto input = start_input();
  // The start file names the driver that this process obeys.
  check_trusted(input.get(), "the start file of this job");
  return enter_container(std::move(input));
}

bool is_any(const std::string& text) {
  return !text.empty() && text.find('\n') == text.npos;
}

} // namespace

BackendKind slurm_kind() {
  return {
    .name = "slurm",
    .keys =
      {{"slurm_partition", "a partition, or several, separated by commas", is_any},
       {"slurm_account", "an account of Slurm", is_word},
       {"slurm_qos", "a quality of service of Slurm", is_word},
       {"slurm_time",
        "MINUTES, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS or UNLIMITED, more than 0",
        slurm::is_time_limit},
       {"slurm_constraint", "features of nodes, as for sbatch --constraint", is_any},
       {"slurm_gres", "NAME:COUNT or NAME:TYPE:COUNT, separated by commas", is_any},
       {"slurm_arguments",
        "options of sbatch such as --exclusive --nice=10, each one word, and none that "
        "Fiber sets itself, such as --array, --output, --export",
        slurm::are_arguments},
       {"slurm_directory",
        "an absolute path on a file system that all nodes share, without % and \\",
        is_folder}},
    .detect = own_allocation,
    .make = make_slurm_backend,
    .enter = enter_slurm_job};
}

} // namespace fiber::backends
