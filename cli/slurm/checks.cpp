// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <sstream>

#include "backends/backend.hpp"
#include "backends/engine/program.hpp"
#include "backends/engine/spawn.hpp"
#include "backends/slurm/cluster.hpp"
#include "backends/slurm/command.hpp"
#include "backends/slurm/session_folder.hpp"
#include "backends/slurm/slurm_backend.hpp"
#include "cli/engines/open_files.hpp"
#include "cli/engines/probe.hpp"
#include "cli/slurm/left.hpp"
#include "cli/slurm/slurm.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::slurm {
namespace {

using backends::slurm::CommandResult;
using backends::slurm::run_command;

constexpr auto engine_name = "slurm";

bool has(const std::string& text, const char* words) {
  return text.find(words) != text.npos;
}

/// Advice about an answer of one of Slurm's commands.
std::string advice_for(const std::string& words) {
  if (has(words, "munge") || has(words, "MUNGE") || has(words, "authentication"))
    return "munged, which proves to Slurm who you are, does not answer on this machine: "
           "sudo systemctl start munge; its key must be the cluster's";
  if (has(words, "configuration source") || has(words, "fetch config") ||
      has(words, "slurm.conf"))
    return "Slurm's slurm.conf is not where its commands look: set SLURM_CONF to its "
           "path, or load the site's module for Slurm";
  if (has(words, "no answer") || has(words, "contact slurm controller") ||
      has(words, "Connection refused") || has(words, "timed out"))
    return "slurmctld is down, or slurm.conf (SLURM_CONF) is that of another cluster: "
           "scontrol ping says which; who runs the cluster starts it (systemctl start "
           "slurmctld). Jobs that run go on meanwhile";
  return {};
}

std::string advice_for_session(const std::string& words) {
  if (has(words, "has no program"))
    return "put the program on a file system that all nodes share, such as your home "
           "directory, and start it from there";
  if (has(words, "can't write") || has(words, "has no start file"))
    return "set slurm_directory (FIBER_SLURM_DIRECTORY) to a folder on a file system "
           "that all nodes share";
  if (has(words, "invalid partition") || has(words, "Invalid account") ||
      has(words, "Invalid qos"))
    return "correct slurm_partition, slurm_account or slurm_qos: sinfo lists partitions, "
           "sacctmgr show assoc user=$USER lists accounts";
  if (has(words, "Slurm job waited") || has(words, "queue_deadline") ||
      has(words, "not ready after"))
    return "see what the job waits for (squeue --me --start): give --deadline more "
           "seconds, or choose another slurm_partition";
  return advice_for(words);
}

/// The checks of one cluster, from the commands to a job.
class Diagnosis {
public:
  Diagnosis(const DoctorRequest& request, Report& report)
    : request_(request), report_(report), values_(resolve({}).backend_values) {}

  void make() {
    check_open_files(engine_name, backends::slurm::descriptors_per_job, usual_jobs,
                     report_);
    if (!report_.check(engine_name, "commands", [this] { return find_commands(); }) ||
        !report_.check(engine_name, "controller", [this] { return reach(); }) ||
        !report_.check(engine_name, "partition", [this] { return find_partition(); }) ||
        !report_.check(engine_name, "folder", [this] { return try_folder(); }) ||
        !report_.check(engine_name, "permission", [this] { return try_submission(); }))
      return;
    Config config;
    config.backend = engine_name;
    config.start_deadline = config.queue_deadline = request_.deadline;
    probe(engine_name, config, report_, advice_for_session);
  }

private:
  std::string find_commands() {
    for (auto* name : {"sbatch", "squeue", "scancel", "scontrol", "sinfo"})
      if (backends::find_in_path(name).empty())
        throw Trouble(std::string(name) + " is not on PATH",
                      "run this on a login node of the cluster, or load the site's "
                      "module: module load slurm");
    // With a file that is not there, Slurm's commands try for a minute.
    const char* conf = std::getenv("SLURM_CONF");
    if (conf != nullptr && ::access(conf, R_OK) != 0)
      throw Trouble("SLURM_CONF is " + std::string(conf) + ": " + std::strerror(errno),
                    advice_for("slurm.conf"));
    auto told = run_command({"sbatch", "--version"});
    if (!told.ok())
      throw Trouble(told.problem(), advice_for(told.errors));
    return told.output.substr(0, told.output.find('\n'));
  }

  std::string reach() {
    auto told = run_command({"scontrol", "show", "config"});
    if (!told.ok())
      throw Trouble(told.problem(), advice_for(told.problem()));
    return "cluster " + backends::slurm::config_value(told.output, "ClusterName") +
           " answers";
  }

  std::string find_partition() {
    auto wanted = values_["slurm_partition"];
    std::vector<std::string> words{"sinfo", "--noheader", "--format=%R|%a|%D|%T"};
    if (!wanted.empty())
      words.push_back("--partition=" + wanted);
    auto told = run_command(words);
    if (!told.ok())
      throw Trouble(told.problem(), advice_for(told.problem()));
    return compare(wanted, told.output);
  }

  /// Looks for a partition that is up and has a node that works.
  static std::string compare(const std::string& wanted, const std::string& rows) {
    bool there = false, open = false;
    std::string states;
    fiber::detail::Classic<std::istringstream> lines(rows);
    for (std::string name, up, count, state;
         std::getline(lines, name, '|') && std::getline(lines, up, '|') &&
         std::getline(lines, count, '|') && std::getline(lines, state);) {
      there = true;
      open = open || up == "up";
      states +=
        (states.empty() ? "" : ", ") + count + " nodes of " + name + " are " + state;
      bool works = state.starts_with("idle") || state.starts_with("mix") ||
                   state.starts_with("alloc") || state.starts_with("comp");
      if (up == "up" && works && !state.ends_with("*"))
        return name + " is up; " + count + " of its nodes are " + state;
    }
    auto name = wanted.empty() ? std::string("no partition") : "partition " + wanted;
    if (!there)
      throw Trouble(
        "there is no partition " + wanted,
        "set slurm_partition (FIBER_SLURM_PARTITION) to one that sinfo lists");
    if (!open)
      throw Trouble(name + (wanted.empty() ? " is up" : " is closed"),
                    "choose another, which sinfo shows as up: slurm_partition "
                    "(FIBER_SLURM_PARTITION); or wait until it is opened");
    throw Trouble("no node works: " + states,
                  "sinfo --list-reasons says why; choose another slurm_partition, or ask "
                  "who runs the cluster");
  }

  std::string try_folder() {
    auto base = session_base();
    try {
      std::random_device random;
      backends::slurm::SessionFolder folder(base, "doctor-" + std::to_string(random()),
                                            std::chrono::hours(1));
      folder.remove();
    } catch (const backends::EngineError& error) {
      throw Trouble(error.what(),
                    "set slurm_directory (FIBER_SLURM_DIRECTORY) to a folder that you "
                    "may write to, on a file system that all nodes share");
    }
    return base + " can be written to; the job below shows whether its node has it too";
  }

  /// Lets Slurm judge a job without starting it.
  std::string try_submission() {
    std::vector<std::string> words{"sbatch", "--test-only", "--output=/dev/null"};
    auto add = [&](const char* option, const char* key) {
      if (!values_[key].empty())
        words.push_back(option + values_[key]);
    };
    add("--partition=", "slurm_partition");
    add("--account=", "slurm_account");
    add("--qos=", "slurm_qos");
    add("--time=", "slurm_time");
    add("--constraint=", "slurm_constraint");
    add("--gres=", "slurm_gres");
    words.push_back("--wrap=true");
    auto told = run_command(words);
    if (!told.ok())
      throw Trouble(told.problem(), advice_for_submission(told.problem()));
    return "Slurm would take a job with these settings";
  }

  static std::string advice_for_submission(const std::string& words) {
    if (auto advice = advice_for(words); !advice.empty())
      return advice;
    if (has(words, "node configuration"))
      return "no node has all of slurm_gres and slurm_constraint: sinfo "
             "--format='%N %G %f' lists what nodes have";
    if (auto advice = advice_for_session(words); !advice.empty())
      return advice;
    return "the settings slurm_* (fiber config lists them) must be as for sbatch on this "
           "site; who runs the cluster grants rights";
  }

  const DoctorRequest& request_;
  Report& report_;
  std::map<std::string, std::string> values_;
};

} // namespace

void diagnose(const DoctorRequest& request, Report& report) {
  Diagnosis(request, report).make();
}

} // namespace fiber::cli::slurm
