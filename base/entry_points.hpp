// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "fiber/detail/entry_point.hpp"

namespace fiber {

/// Whether detail::entry() has noted the function at `offset` of this build as an entry
/// point of that kind. Any thread may call it.
bool is_entry_point(const std::string& build, std::uint64_t offset,
                    detail::CodeKind kind);

} // namespace fiber
