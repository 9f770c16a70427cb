// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace fiber::rl::ppo::tests {

/// Numbers that need no generator of random numbers: `size` times the sine of 0.7 i +
/// `phase`. The scripts record_*.py compute the same.
inline std::vector<float> wave(std::size_t count, double phase, double size = 1) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] =
      static_cast<float>(size * std::sin(0.7 * static_cast<double>(i) + phase));
  return numbers;
}

} // namespace fiber::rl::ppo::tests
