// SPDX-License-Identifier: Apache-2.0
#include "es/pendulum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace es {
namespace {

constexpr double gravity = 10.0;
constexpr double mass = 1.0;
constexpr double length = 1.0;
constexpr double dt = 0.05; // Seconds a step.
constexpr double max_speed = 8.0;
constexpr double max_torque = 2.0;

// The same angle in [-pi, pi). std::fmod keeps the sign of its argument, Python's % does
// not.
double normalized(double angle) {
  constexpr double turn = 2 * std::numbers::pi;
  auto rest = std::fmod(angle + std::numbers::pi, turn);
  if (rest < 0)
    rest += turn;
  return rest - std::numbers::pi;
}

} // namespace

void Pendulum::set_state(const State& state) {
  state_ = state;
  observation_ = {static_cast<float>(std::cos(state[0])),
                  static_cast<float>(std::sin(state[0])), static_cast<float>(state[1])};
}

void Pendulum::start(Random& random) {
  const double angle = random.uniform(-std::numbers::pi, std::numbers::pi);
  set_state({angle, random.uniform(-1.0, 1.0)});
}

Step Pendulum::advance(std::span<const float> action) {
  const auto [angle, speed] = state_;
  const double torque =
    std::clamp(static_cast<double>(action[0]), -max_torque, max_torque);
  const double error = normalized(angle);
  const double cost = error * error + 0.1 * (speed * speed) + 0.001 * (torque * torque);

  const double new_speed =
    std::clamp(speed + (3 * gravity / (2 * length) * std::sin(angle) +
                        3.0 / (mass * length * length) * torque) *
                         dt,
               -max_speed, max_speed);
  set_state({angle + new_speed * dt, new_speed});
  return {.reward = -cost};
}

} // namespace es
