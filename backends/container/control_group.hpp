// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fiber::backends {

/// The folders of the control groups, of version 1 and 2, by which `controller` ("cpu",
/// "memory") may limit this process: in each hierarchy from its own group up to the top.
/// Not all of them need exist. `root` stands for "/" in tests.
std::vector<std::string> control_groups(const std::string& controller,
                                        const std::string& root = "");

/// How many processes of this one's group the kernel has killed for lack of memory;
/// nothing where it does not tell.
std::optional<std::uint64_t> out_of_memory_kills(const std::string& root = "");

} // namespace fiber::backends
