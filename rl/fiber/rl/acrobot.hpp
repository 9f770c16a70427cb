// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"

namespace fiber::rl {

/// Gymnasium's Acrobot-v1 (Sutton 1996; Sutton and Barto 1998, section 11.3): two links
/// that hang from a bar, with a motor between them. The task is to swing the free end one
/// link's length above the bar. Actions 0, 1 and 2 apply a torque of -1, 0 and 1. The
/// reward is -1 for each step, and 0 for the one that succeeds. An episode terminates
/// with success and is truncated after 500 steps. A mean return of -100 counts as solved.
class Acrobot {
public:
  using Action = int;
  /// Angle of the first link from hanging down and angle of the second link from the
  /// first, in radians in [-pi, pi]; their speeds, bounded by 4 pi and 9 pi.
  using State = std::array<double, 4>;

  static constexpr int actions = 3;
  /// Cosine and sine of the first angle, cosine and sine of the second, both speeds.
  static constexpr std::size_t observation_size = 6;
  static constexpr int step_limit = 500;
  static constexpr double solved_at = -100;

  /// Starts with each component in [-0.1, 0.1).
  void reset(std::uint64_t seed);
  Step step(Action action);
  void observe(std::span<float> out) const;
  /// The state as a picture of 286 x 286 pixels.
  Image render() const;

  const State& state() const { return state_; }
  /// Continues from this state. The step count stays as it is.
  void set_state(const State& state) { state_ = state; }

private:
  State state_ = {};
  int steps_ = 0;
};

} // namespace fiber::rl
