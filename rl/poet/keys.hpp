// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fiber::rl::poet::keys {

// What a stream of random numbers is for: the first part of its key, so that no two uses
// share a stream.
inline constexpr std::uint64_t first_agent = 101;
inline constexpr std::uint64_t first_environment = 102;
inline constexpr std::uint64_t search = 103;
inline constexpr std::uint64_t proposal = 104;
inline constexpr std::uint64_t child = 105;

} // namespace fiber::rl::poet::keys
