// SPDX-License-Identifier: Apache-2.0
#include "es/cartpole.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace es {
namespace {

// Names, values and order of the operations are Gymnasium's, so that trajectories agree
// to the last digits.
constexpr double gravity = 9.8;
constexpr double mass_pole = 0.1;
constexpr double total_mass = 0.1 + 1.0;
constexpr double length = 0.5; // Half the pole's.
constexpr double pole_mass_length = mass_pole * length;
constexpr double force_magnitude = 10.0;
constexpr double tau = 0.02; // Seconds a step.
constexpr double angle_limit = 12 * 2 * std::numbers::pi / 360;
constexpr double position_limit = 2.4;

} // namespace

void CartPole::set_state(const State& state) {
  state_ = state;
  std::ranges::transform(state_, observation_.begin(),
                         [](double value) { return static_cast<float>(value); });
}

void CartPole::start(Random& random) {
  State state;
  for (auto& value : state)
    value = random.uniform(-0.05, 0.05);
  set_state(state);
}

Step CartPole::advance(std::span<const float> action) {
  auto [x, x_dot, theta, theta_dot] = state_;
  const double force = action[0] > 0 ? force_magnitude : -force_magnitude;
  const double cosine = std::cos(theta);
  const double sine = std::sin(theta);
  const double temp =
    (force + pole_mass_length * (theta_dot * theta_dot) * sine) / total_mass;
  const double theta_acc =
    (gravity * sine - cosine * temp) /
    (length * (4.0 / 3.0 - mass_pole * (cosine * cosine) / total_mass));
  const double x_acc = temp - pole_mass_length * theta_acc * cosine / total_mass;

  // Explicit Euler: positions move by the old speeds.
  x = x + tau * x_dot;
  x_dot = x_dot + tau * x_acc;
  theta = theta + tau * theta_dot;
  theta_dot = theta_dot + tau * theta_acc;
  set_state({x, x_dot, theta, theta_dot});

  const bool fallen = x < -position_limit || x > position_limit || theta < -angle_limit ||
                      theta > angle_limit;
  return {.reward = 1.0, .terminated = fallen};
}

} // namespace es
