// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/acrobot.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {
namespace links {

using std::numbers::pi;
using State = Acrobot::State;

// Masses, lengths and moments of inertia are 1; the centres of mass are in the middle.
constexpr double center = 0.5;
constexpr double gravity = 9.8;
constexpr double dt = 0.2; // Seconds a step.
constexpr double max_speed_1 = 4 * pi;
constexpr double max_speed_2 = 9 * pi;

// The equations of motion of the book, not those of the paper of 1996.
State derivative(const State& state, double torque) {
  const auto [theta1, theta2, speed1, speed2] = state;
  const double sine2 = std::sin(theta2);
  const double cosine2 = std::cos(theta2);
  const double d1 =
    center * center + (1 + center * center + 2 * center * cosine2) + 1 + 1;
  const double d2 = (center * center + center * cosine2) + 1;
  const double phi2 = center * gravity * std::cos(theta1 + theta2 - pi / 2);
  const double phi1 = -center * (speed2 * speed2) * sine2 -
                      2 * center * speed2 * speed1 * sine2 +
                      (center + 1) * gravity * std::cos(theta1 - pi / 2) + phi2;
  const double acceleration2 =
    (torque + d2 / d1 * phi1 - center * (speed1 * speed1) * sine2 - phi2) /
    (center * center + 1 - d2 * d2 / d1);
  const double acceleration1 = -(d2 * acceleration2 + phi1) / d1;
  return {speed1, speed2, acceleration1, acceleration2};
}

State moved(const State& from, double time, const State& slope) {
  State to = {};
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = from[i] + time * slope[i];
  return to;
}

// One step of the classical Runge-Kutta method.
State integrated(const State& state, double torque) {
  const auto k1 = derivative(state, torque);
  const auto k2 = derivative(moved(state, dt / 2, k1), torque);
  const auto k3 = derivative(moved(state, dt / 2, k2), torque);
  const auto k4 = derivative(moved(state, dt, k3), torque);
  State sum = {};
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] = k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i];
  return moved(state, dt / 6, sum);
}

double wrapped(double angle) {
  while (angle > pi)
    angle -= 2 * pi;
  while (angle < -pi)
    angle += 2 * pi;
  return angle;
}

} // namespace links
} // namespace

void Acrobot::reset(std::uint64_t seed) {
  Random random(seed);
  for (auto& value : state_)
    value = static_cast<float>(random.uniform(-0.1, 0.1)); // Gymnasium starts in float32.
  steps_ = 0;
}

Step Acrobot::step(Action action) {
  using namespace links;
  auto& [theta1, theta2, speed1, speed2] = state_ = integrated(state_, action - 1);
  theta1 = wrapped(theta1);
  theta2 = wrapped(theta2);
  speed1 = std::clamp(speed1, -max_speed_1, max_speed_1);
  speed2 = std::clamp(speed2, -max_speed_2, max_speed_2);

  const bool reached = -std::cos(theta1) - std::cos(theta2 + theta1) > 1;
  return {.reward = reached ? 0.0 : -1.0,
          .terminated = reached,
          .truncated = ++steps_ >= step_limit};
}

void Acrobot::observe(std::span<float> out) const {
  const auto [theta1, theta2, speed1, speed2] = state_;
  out[0] = static_cast<float>(std::cos(theta1));
  out[1] = static_cast<float>(std::sin(theta1));
  out[2] = static_cast<float>(std::cos(theta2));
  out[3] = static_cast<float>(std::sin(theta2));
  out[4] = static_cast<float>(speed1);
  out[5] = static_cast<float>(speed2);
}

} // namespace fiber::rl
