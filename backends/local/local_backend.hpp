// SPDX-License-Identifier: Apache-2.0
// local/ runs jobs as processes on this machine, forked by a zygote.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/output/output.hpp"
#include "backends/output/status_lines.hpp"

namespace fiber::backends {

namespace local {

/// Descriptors of the driver that a job takes: link, output and the process itself.
inline constexpr std::size_t descriptors_per_job = 3;

} // namespace local

/// The variable by which the processes of a session are found, also those that a task
/// has started, after its driver was killed.
inline constexpr auto session_variable = "FIBER_SESSION_ID";

/// Options of the local backend.
struct LocalOptions {
  bool plain_spawn = false;     ///< Exec the program for each job, without a zygote.
  bool hide_gpus = true;        ///< A job that asks for no GPU sees none.
  std::size_t jobs_per_gpu = 1; ///< How many jobs may have the same GPU.
  bool forward_output = true;   ///< Copy jobs' output to our stderr, with names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Destination; null: a new one.
  std::vector<std::string> argv; ///< Driver's arguments; empty: /proc/self/cmdline.
  std::string executable;        ///< Empty: /proc/self/exe.
  /// Gets the output of jobs as it comes, instead of stderr; see Output.
  Output::Tap on_output = {};
  std::string session = {}; ///< Value of session_variable in its processes; empty: none.
};

/// Makes a backend whose jobs are processes on this machine. The first create() executes
/// the program once more; in enter_job() that process becomes a zygote, which forks each
/// job. If threads already run there, each job is exec'ed instead, and one log line names
/// the cost.
///
/// Copies the environment now. Applies JobResources by CPU affinity, RLIMIT_DATA and the
/// variables of resource_variables.hpp. A job with more than one core is exec'ed as well:
/// libraries have counted the zygote's threads when they were loaded. Throws EngineError.
std::unique_ptr<Backend> make_local(const LocalOptions& options = {});

} // namespace fiber::backends
