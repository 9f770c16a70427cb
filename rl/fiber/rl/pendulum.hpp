// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"

namespace fiber::rl {

/// Gymnasium's Pendulum-v1: a pendulum that a motor swings up and holds. The motor is too
/// weak to lift it straight. The action is a torque, clipped to [-2, 2]. The reward is
/// -(angle^2 + 0.1 speed^2 + 0.001 torque^2), with the angle in [-pi, pi), computed from
/// the state before the step. An episode never terminates; it is truncated after 200
/// steps.
class Pendulum {
public:
  using Action = std::array<float, 1>;
  /// Angle from upright in radians, which grows beyond pi with each turn; angular speed
  /// in [-8, 8].
  using State = std::array<double, 2>;

  static constexpr Action action_low{-2};
  static constexpr Action action_high{2};
  static constexpr std::size_t observation_size = 3; ///< Cosine, sine, angular speed.
  static constexpr int step_limit = 200;

  /// Starts at an angle in [-pi, pi) with a speed in [-1, 1).
  void reset(std::uint64_t seed);
  Step step(Action action);
  void observe(std::span<float> out) const;
  /// The state as a picture of 260 x 260 pixels.
  Image render() const;

  const State& state() const { return state_; }
  /// Continues from this state. The step count stays as it is.
  void set_state(const State& state) { state_ = state; }

private:
  State state_ = {};
  int steps_ = 0;
};

} // namespace fiber::rl
