// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/engines/engine.hpp"

namespace fiber::cli::docker {

/// Runs the program as a container, which itself starts those of its jobs.
int run(const RunRequest& request);

/// Checks the engine, the image, and that a job starts.
void diagnose(const DoctorRequest& request, Report& report);

/// Copies to a volume or from one, by a container that is never started.
std::size_t copy(const CopyRequest& request);

/// Reaches the drivers that run() has started.
extern const DriverTools drivers;

/// The label of a driver's container; its value is the program.
inline constexpr auto driver_label = "fiber.driver";

} // namespace fiber::cli::docker
