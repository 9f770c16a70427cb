// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace fiber {

/// The longest time that options may say, 100 years: sums of such times, in nanoseconds,
/// still fit into 64 bits.
inline constexpr std::chrono::milliseconds longest_time = std::chrono::hours(24 * 36525);

/// Returns `d`, at most the longest time and at least its negative.
template <class Rep, class Period>
std::chrono::duration<Rep, Period> bounded(std::chrono::duration<Rep, Period> d) {
  using Duration = std::chrono::duration<Rep, Period>;
  constexpr auto longest = std::chrono::duration_cast<Duration>(longest_time);
  return d > longest ? longest : d < -longest ? -longest : d;
}

} // namespace fiber
