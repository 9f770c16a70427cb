// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cli/engines/engine.hpp"

namespace fiber::cli::kubernetes {

/// Runs the program as a pod, which itself starts those of its workers.
int run(const RunRequest& request);

/// Copies to a PersistentVolumeClaim, or from one, by way of a pod that mounts it.
std::size_t copy(const CopyRequest& request);

/// Checks the access to the cluster, the rights there, and that a job starts.
void diagnose(const DoctorRequest& request, Report& report);

/// Reaches the drivers that run() has started.
extern const DriverTools drivers;

} // namespace fiber::cli::kubernetes
