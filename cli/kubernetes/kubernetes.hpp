// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/engines/engine.hpp"

namespace fiber::cli::kubernetes {

/// Runs the program as a pod, which itself starts those of its workers.
int run(const RunRequest& request);

/// Checks the access to the cluster, the rights there, and that a job starts.
void diagnose(const DoctorRequest& request, Report& report);

} // namespace fiber::cli::kubernetes
