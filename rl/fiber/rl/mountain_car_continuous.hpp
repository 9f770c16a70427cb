// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"

namespace fiber::rl {

/// Gymnasium's MountainCarContinuous-v0 (Moore 1990): a car in a valley, whose engine is
/// too weak for the hill on the right, must gather speed on the one on the left. The
/// action is the engine's force in [-1, 1]; it is clipped to that range. A step costs 0.1
/// times the square of the action before clipping. Reaching position 0.45 pays 100 and
/// terminates the episode. An episode is truncated after 999 steps. A mean return of 90
/// counts as solved.
class MountainCarContinuous {
public:
  using Action = std::array<float, 1>;
  /// Position in [-1.2, 0.6], speed in [-0.07, 0.07]; in float32, as in Gymnasium.
  using State = std::array<float, 2>;

  static constexpr Action action_low{-1};
  static constexpr Action action_high{1};
  static constexpr std::size_t observation_size = 2; ///< The state.
  static constexpr int step_limit = 999;
  static constexpr double solved_at = 90;

  /// Starts at rest at a position in [-0.6, -0.4).
  void reset(std::uint64_t seed);
  Step step(Action action);
  void observe(std::span<float> out) const;
  /// The state as a picture of 360 x 240 pixels.
  Image render() const;

  const State& state() const { return state_; }
  /// Continues from this state. The step count stays as it is.
  void set_state(const State& state) { state_ = state; }

private:
  State state_ = {};
  int steps_ = 0;
};

} // namespace fiber::rl
