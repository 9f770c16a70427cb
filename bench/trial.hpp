// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "bench/peers/measurement.hpp"

namespace bench {

constexpr double run_seconds = 0.5;

/// The seconds of a run of `play`, for each of the `n` that it is told to do, when it is
/// warm. `play` returns its seconds.
inline double seconds_each(const std::function<double(std::size_t n)>& play,
                           std::size_t trial) {
  play(trial / 10 + 1); // Warm.
  auto each = play(trial) / static_cast<double>(trial);
  auto enough = std::max(static_cast<std::size_t>(run_seconds / each), trial);
  return play(enough) / static_cast<double>(enough);
}

/// The same of what this thread does.
inline double seconds_of(const std::function<void(std::size_t n)>& work,
                         std::size_t trial) {
  return seconds_each(
    [&](std::size_t n) {
      const peers::Stopwatch watch;
      work(n);
      return watch.seconds();
    },
    trial);
}

} // namespace bench
