// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "backends/slurm/command.hpp"

namespace fiber::backends::slurm {

/// What must be known of a cluster before the first job.
struct ClusterInfo {
  std::string name, version;
  std::size_t largest_array = 1; ///< Tasks.
  std::string address;           ///< Of this process, as its nodes see it.
};

/// Asks the cluster. Blocks. Throws EngineError: a command is not on PATH, or the
/// controller does not answer.
ClusterInfo find_cluster(Commands& commands, const std::string& partition);

/// Returns the value of a line "KEY = VALUE" of `scontrol show config`, or an empty
/// string.
std::string config_value(const std::string& config, const std::string& key);

} // namespace fiber::backends::slurm
