// SPDX-License-Identifier: Apache-2.0
// slurm/ starts drivers as jobs of Slurm and checks a cluster.
#pragma once

#include "cli/engines/engine.hpp"

namespace fiber::cli::slurm {

/// Runs the program as a job of Slurm, which itself submits the jobs of its workers.
int run(const RunRequest& request);

/// Checks Slurm's commands, its daemons, the partition, the shared folder, and that a job
/// starts.
void diagnose(const DoctorRequest& request, Report& report);

/// Reaches the drivers that run() has started.
extern const DriverTools drivers;

} // namespace fiber::cli::slurm
