// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fiber::rl::ga {

// What a stream of random numbers is for: the first part of its key, so that no two uses
// share a stream.
inline constexpr std::uint64_t mutation = 101;
inline constexpr std::uint64_t child = 102;
inline constexpr std::uint64_t training_episode = 103;
inline constexpr std::uint64_t trial = 104; // To 106: one for each Trial::Purpose.

} // namespace fiber::rl::ga
