// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace bench {

constexpr std::size_t ring_members = 4;

/// How many floats the row ring_allreduce_SIZE adds up.
inline std::size_t floats_of(std::string_view row) {
  auto size = row.substr(row.rfind('_') + 1);
  auto bytes = size == "4k"    ? std::size_t{4000}
               : size == "1m"  ? std::size_t{1000000}
               : size == "64m" ? std::size_t{64000000}
                               : std::size_t{0};
  if (bytes == 0)
    throw std::invalid_argument("no size in the row's name");
  return bytes / sizeof(float);
}

/// How often a second all members can do it together. `agree` gives all of them the
/// number that it is given by the first.
template <class Once, class Agree>
double calls_per_second(Once once, Agree agree) {
  using Clock = std::chrono::steady_clock;
  auto seconds = [&](int calls) {
    auto begin = Clock::now();
    for (int i = 0; i < calls; ++i)
      once();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  constexpr int trial = 5;
  seconds(trial); // All is warm.
  auto calls =
    agree(std::clamp(static_cast<int>(0.5 * trial / seconds(trial)), 5, 20000));
  once(); // All begin together.
  return calls / seconds(calls);
}

} // namespace bench
