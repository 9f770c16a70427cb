// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fiber/byte_stream.hpp"

namespace fiber {

/// Whether this process has loaded the object of the place that comes next, which
/// detail::pack_code() wrote. Throws Error if there is no place.
bool is_loaded(Reader place);

/// Returns the GNU build id of this program's executable, in hex. Throws Error if it was
/// linked without one (-Wl,--build-id).
std::string build_id();

/// Returns the address at which this process has loaded the object file with this build
/// id (in hex), or nothing. Offsets of code in the file are relative to it.
std::optional<std::uintptr_t> loaded_at(const std::string& build);

} // namespace fiber
