// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/slurm/session_folder.hpp"

namespace fiber::cli::slurm {

/// A session's folder on the shared file system.
struct SessionPlace {
  std::string session, folder;
  backends::slurm::DriverNote driver = {};
};

/// Returns where sessions have their folders: the setting slurm_directory, or the usual
/// place.
std::string session_base();

/// Returns the sessions that have a folder.
std::vector<SessionPlace> session_places();

/// Cancels the jobs of a session whose driver has ended, and removes its folder. Throws
/// Error if Slurm's controller does not answer.
void remove_session(const SessionPlace& place);
/// The same for those whose driver was this job: it was killed, and jobs of its workers
/// may wait in Slurm's queue.
void remove_sessions_of(const std::string& driver_job);

} // namespace fiber::cli::slurm
