// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace fiber {

/// Returns 12 random hexadecimal digits, which name a session on its engine.
std::string random_id();

/// Returns a random number of 64 bits that can't be guessed. Throws std::system_error if
/// the system has none.
std::uint64_t secret_number();

} // namespace fiber
