// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/mountain_car_continuous.hpp"

#include <algorithm>
#include <cmath>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {
namespace valley {

constexpr float min_position = -1.2f;
constexpr float max_position = 0.6f;
constexpr float goal_position = 0.45f;
constexpr float max_speed = 0.07f;
constexpr double power = 0.0015;

// What the engine and the slope add to the speed in a step. Gymnasium computes with the
// action's float32 if it is within its bounds, and with float64 if it had to be clipped.
float acceleration(float position, float action) {
  const double slope = 0.0025 * std::cos(static_cast<double>(3 * position));
  const auto force = std::clamp(action, -1.0f, 1.0f);
  if (force != action)
    return static_cast<float>(force * power - slope);
  return force * static_cast<float>(power) - static_cast<float>(slope);
}

} // namespace valley
} // namespace

void MountainCarContinuous::reset(std::uint64_t seed) {
  Random random(seed);
  state_ = {static_cast<float>(random.uniform(-0.6, -0.4)), 0};
  steps_ = 0;
}

Step MountainCarContinuous::step(Action action) {
  using namespace valley;
  auto& [position, speed] = state_;
  speed = std::clamp(speed + acceleration(position, action[0]), -max_speed, max_speed);
  position = std::clamp(position + speed, min_position, max_position);
  if (position == min_position && speed < 0)
    speed = 0; // The wall on the left.

  const bool reached = position >= goal_position && speed >= 0;
  const double effort = action[0];
  return {.reward = (reached ? 100.0 : 0.0) - effort * effort * 0.1,
          .terminated = reached,
          .truncated = ++steps_ >= step_limit};
}

void MountainCarContinuous::observe(std::span<float> out) const {
  std::ranges::copy(state_, out.begin());
}

} // namespace fiber::rl
