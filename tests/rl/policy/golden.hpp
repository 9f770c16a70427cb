// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fiber/rl/random.hpp"

namespace fiber::rl {

// The numbers that both the recorder of the golden outputs and the test feed to networks:
// uniform, and the same on every machine.
inline std::vector<float> golden_numbers(std::size_t count, std::uint64_t seed,
                                         double bound) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (auto& number : numbers)
    number = static_cast<float>(random.uniform(-bound, bound));
  return numbers;
}

} // namespace fiber::rl
