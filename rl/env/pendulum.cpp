// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/pendulum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {
namespace swing {

constexpr double gravity = 10.0;
constexpr double length = 1.0;
constexpr double dt = 0.05; // Seconds a step.
constexpr double max_speed = 8.0;

// The same angle in [-pi, pi). std::fmod keeps the sign of its argument; Python's % does
// not.
double normalized(double angle) {
  constexpr double turn = 2 * std::numbers::pi;
  auto rest = std::fmod(angle + std::numbers::pi, turn);
  if (rest < 0)
    rest += turn;
  return rest - std::numbers::pi;
}

} // namespace swing
} // namespace

void Pendulum::reset(std::uint64_t seed) {
  Random random(seed);
  state_[0] = random.uniform(-std::numbers::pi, std::numbers::pi);
  state_[1] = random.uniform(-1.0, 1.0);
  steps_ = 0;
}

Step Pendulum::step(Action action) {
  using namespace swing;
  auto& [angle, speed] = state_;
  const double error = normalized(angle);
  // Gymnasium's torque is a float32, and so are its products.
  const float torque = std::clamp(action[0], action_low[0], action_high[0]);
  const float effort = 0.001f * (torque * torque);
  const float push = 3.0f * torque;

  const double cost = error * error + 0.1 * (speed * speed) + effort;
  const double acceleration = 3 * gravity / (2 * length) * std::sin(angle) + push;
  speed = std::clamp(speed + acceleration * dt, -max_speed, max_speed);
  angle += speed * dt;
  return {.reward = -cost, .truncated = ++steps_ >= step_limit};
}

void Pendulum::observe(std::span<float> out) const {
  out[0] = static_cast<float>(std::cos(state_[0]));
  out[1] = static_cast<float>(std::sin(state_[0]));
  out[2] = static_cast<float>(state_[1]);
}

} // namespace fiber::rl
