// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fiber::rl::es {

// What a stream of random numbers is for: the first part of its key, so that no two uses
// share a stream.
inline constexpr std::uint64_t initial_parameters = 1;
inline constexpr std::uint64_t noise_table = 2;
inline constexpr std::uint64_t noise_offset = 3;
inline constexpr std::uint64_t training_episode = 4;
inline constexpr std::uint64_t evaluation_episode = 5;
inline constexpr std::uint64_t confirmation_episode = 6;
inline constexpr std::uint64_t statistics = 7;

} // namespace fiber::rl::es
