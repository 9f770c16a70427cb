// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/cartpole.hpp"

#include <cmath>
#include <numbers>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {

// Names, values and order of the operations are Gymnasium's, so that trajectories agree
// to the last digits.
namespace pole {
constexpr double gravity = 9.8;
constexpr double mass_pole = 0.1;
constexpr double total_mass = 0.1 + 1.0;
constexpr double length = 0.5; // Half the pole's.
constexpr double pole_mass_length = mass_pole * length;
constexpr double force_magnitude = 10.0;
constexpr double tau = 0.02; // Seconds a step.
constexpr double angle_limit = 12 * 2 * std::numbers::pi / 360;
constexpr double position_limit = 2.4;
} // namespace pole

} // namespace

void CartPole::reset(std::uint64_t seed) {
  Random random(seed);
  for (auto& value : state_)
    value = random.uniform(-0.05, 0.05);
  steps_ = 0;
}

Step CartPole::step(Action action) {
  using namespace pole;
  auto& [x, x_dot, theta, theta_dot] = state_;
  const double force = action == 1 ? force_magnitude : -force_magnitude;
  const double cosine = std::cos(theta);
  const double sine = std::sin(theta);
  const double temp =
    (force + pole_mass_length * (theta_dot * theta_dot) * sine) / total_mass;
  const double theta_acc =
    (gravity * sine - cosine * temp) /
    (length * (4.0 / 3.0 - mass_pole * (cosine * cosine) / total_mass));
  const double x_acc = temp - pole_mass_length * theta_acc * cosine / total_mass;

  // Explicit Euler: positions move by the old speeds.
  x += tau * x_dot;
  x_dot += tau * x_acc;
  theta += tau * theta_dot;
  theta_dot += tau * theta_acc;

  const bool fallen = x < -position_limit || x > position_limit || theta < -angle_limit ||
                      theta > angle_limit;
  return {.reward = 1.0, .terminated = fallen, .truncated = ++steps_ >= step_limit};
}

void CartPole::observe(std::span<float> out) const {
  for (std::size_t i = 0; i < state_.size(); ++i)
    out[i] = static_cast<float>(state_[i]);
}

} // namespace fiber::rl
