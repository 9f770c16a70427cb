// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/output/status_lines.hpp"

namespace fiber::backends {

/// How jobs on this machine are made.
struct LocalOptions {
  bool plain_spawn = false; ///< Exec the program anew for each job: no zygote.
  bool forward_output =
    true; ///< Show what jobs write on our stderr, each line with its name.
  std::shared_ptr<StatusLines> terminal = {}; ///< Where to; null: one of its own.
  std::vector<std::string>
    argv;                 ///< The driver's original arguments; empty: /proc/self/cmdline.
  std::string executable; ///< Empty: /proc/self/exe.
};

/// Jobs are processes on this machine. At the first create() the program is exec'ed once
/// more and stops in enter_job() as a zygote, which then forks each job. If threads run
/// there already, each job is exec'ed instead, and one log line names the cost.
///
/// The environment is copied here; JobResources are not enforced. Throws EngineError.
std::unique_ptr<Backend> make_local(LocalOptions options = {});

} // namespace fiber::backends
