// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace fiber {

/// The mangled name of the function that begins at `address` of an executable or shared
/// library, as its file says; of several the first in the alphabet. Empty if the file was
/// stripped of it or can't be read.
std::string symbol_at(const std::string& path, std::uint64_t address);

} // namespace fiber
