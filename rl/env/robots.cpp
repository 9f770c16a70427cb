// SPDX-License-Identifier: Apache-2.0
#include "rl/env/robots.hpp"

#include <algorithm>
#include <array>

namespace fiber::rl {

std::optional<std::string_view> robot_of(std::string_view environment) {
  constexpr std::array<std::string_view, 9> robots = {"inverted_pendulum",
                                                      "inverted_double_pendulum",
                                                      "reacher",
                                                      "swimmer",
                                                      "hopper",
                                                      "half_cheetah",
                                                      "walker2d",
                                                      "ant",
                                                      "humanoid"};
  if (environment.ends_with("_v4"))
    environment.remove_suffix(3);
  const auto* found = std::ranges::find(robots, environment);
  return found == robots.end() ? std::nullopt : std::optional(*found);
}

} // namespace fiber::rl
