// SPDX-License-Identifier: Apache-2.0
#include "es/quadratic.hpp"

namespace es {

Step Quadratic::advance(std::span<const float> action) {
  double distance = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const double off = static_cast<double>(action[i]) - static_cast<double>(target[i]);
    distance += off * off;
  }
  return {.reward = -distance, .terminated = true};
}

} // namespace es
