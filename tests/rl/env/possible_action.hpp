// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fiber/rl/environment.hpp"

namespace fiber::rl {

/// An action of which each number is `number`, or the first choice that is possible if
/// the environment's mask forbids it.
inline std::vector<float> possible_action(const AnyEnvironment& environment,
                                          float number) {
  const auto spaces = environment.spaces();
  std::vector<float> action(spaces.action_size(), number);
  std::vector<std::uint8_t> mask(spaces.mask_size());
  environment.mask(mask);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < spaces.choices().size() && spaces.masked; ++i) {
    const auto first = mask.begin() + static_cast<std::ptrdiff_t>(begin);
    if (first[static_cast<std::ptrdiff_t>(number)] == 0)
      action[i] =
        static_cast<float>(std::find(first, first + spaces.choices()[i], 1) - first);
    begin += static_cast<std::size_t>(spaces.choices()[i]);
  }
  return action;
}

} // namespace fiber::rl
