// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fiber {

/// The GNU build id of this program's executable, in hex. Throws Error if it was linked
/// without one (-Wl,--build-id).
std::string build_id();

/// Where the object file with this build id, in hex, is loaded in this process; nothing
/// if it is not. What a place in it is relative to.
std::optional<std::uintptr_t> loaded_at(const std::string& build);

} // namespace fiber
