// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace fiber {

/// Returns the number of cores that this process's control groups allow, or 0 without a
/// limit. Tests pass a folder as `root` in place of "/".
double cpu_quota(const std::string& root = "");

/// Returns the cores that this process may use, at least 1, by its affinity and the quota
/// of its control group. Other jobs may use them as well: cpu_count() is the share of a
/// job.
std::size_t usable_cores();

} // namespace fiber
