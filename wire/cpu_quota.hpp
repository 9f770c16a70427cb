// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace fiber::wire {

/// Cores that this process's control groups allow; 0 if they set no limit. `root` stands
/// for "/" in tests.
double cpu_quota(const std::string& root = "");

/// In how many periods each of those groups had used its limit up and was stopped,
/// summed.
std::uint64_t cpu_throttles(const std::string& root = "");

} // namespace fiber::wire
