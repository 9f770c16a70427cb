// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber {

/// Returns the number of cores that this process's control groups allow, or 0 without a
/// limit. Tests pass a folder as `root` in place of "/".
double cpu_quota(const std::string& root = "");

} // namespace fiber
