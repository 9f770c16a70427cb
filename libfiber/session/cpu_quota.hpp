// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber {

/// Cores that this process's control groups allow; 0 if they set no limit. `root` stands
/// for "/" in tests.
double cpu_quota(const std::string& root = "");

} // namespace fiber
