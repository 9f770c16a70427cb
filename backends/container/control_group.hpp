// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fiber::backends {

/// Returns the folders of the control groups, versions 1 and 2, by which `controller`
/// ("cpu", "memory") may limit this process: in each hierarchy from its own group up to
/// the top. Some may not exist. Tests pass a folder as `root` in place of "/".
std::vector<std::string> control_groups(const std::string& controller,
                                        const std::string& root = "");

/// Returns how many processes of this one's group the kernel has killed for lack of
/// memory, or nothing if unknown.
std::optional<std::uint64_t> out_of_memory_kills(const std::string& root = "");

} // namespace fiber::backends
