// SPDX-License-Identifier: Apache-2.0
// ssh/ checks machines that are reached by ssh, and starts drivers there.
#pragma once

#include "cli/engines/engine.hpp"

namespace fiber::cli::ssh {

/// Checks each host: that ssh gets there, its C library, its room, its clock, and that a
/// job starts and dials back.
void diagnose(const DoctorRequest& request, Report& report);

/// Returns the request for a process of this machine that starts the program as a driver
/// on the machine `on`. Throws Error if an option does not fit.
RunRequest started_here(const RunRequest& request);

} // namespace fiber::cli::ssh
