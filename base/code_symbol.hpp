// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace fiber {

/// Returns the mangled name of the function at `address` in an executable or shared
/// library, from the file's symbol tables; the alphabetically first of several. Empty if
/// the file was stripped or cannot be read.
std::string symbol_at(const std::string& path, std::uint64_t address);

} // namespace fiber
