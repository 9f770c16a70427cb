// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace fiber::wire {

/// Cores that this process's control groups allow; 0 if they set no limit. `root` stands
/// for "/" in tests.
double cpu_quota(const std::string& root = "");

/// In how many periods those groups have used their limits up and were stopped.
std::uint64_t cpu_throttles(const std::string& root = "");

} // namespace fiber::wire
