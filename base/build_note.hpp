// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace fiber {

/// Returns the build id in a note segment of an object file, or nothing. Safe to call in
/// a signal handler.
std::span<const std::byte> find_build_id(std::span<const std::byte> notes);

} // namespace fiber
