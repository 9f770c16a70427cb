// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cli/engines/report.hpp"

namespace fiber::cli {

/// A number of jobs that programs on a cluster commonly have.
inline constexpr std::size_t usual_jobs = 64;

/// Checks that a driver may open enough files for `jobs` jobs, each of which takes
/// `files_per_job` of the driver's descriptors. Returns whether that is so.
bool check_open_files(const std::string& engine, std::size_t files_per_job,
                      std::size_t jobs, Report& report);

} // namespace fiber::cli
