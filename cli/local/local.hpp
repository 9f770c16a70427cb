// SPDX-License-Identifier: Apache-2.0
// local/ starts drivers on this machine and checks whether it can run jobs.
#pragma once

#include "cli/engines/engine.hpp"

namespace fiber::cli::local {

/// Runs the program beside this process, on the same terminal.
int run(const RunRequest& request);

/// Checks shared memory, open files, and that a job starts.
void diagnose(const DoctorRequest& request, Report& report);

} // namespace fiber::cli::local
