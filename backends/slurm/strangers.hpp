// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "backends/slurm/command.hpp"
#include "backends/slurm/session_folder.hpp"

namespace fiber::backends::slurm {

/// Returns what the names of a session's jobs begin with.
std::string name_prefix(const std::string& session);
/// Returns the ids of a session's jobs in the output of squeue --format="%F %j".
std::set<std::string> jobs_of(const std::string& rows, const std::string& session);
/// Returns the number of this process's user.
std::string user_id();

/// Removes what sessions of dead drivers have left in the folder of `own`'s siblings:
/// their folders, once these have not been touched for longer than their lease, and their
/// jobs. Blocks.
void remove_strangers(Commands& commands, const SessionFolder& own);

} // namespace fiber::backends::slurm
