// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"

namespace fiber::rl {

/// Gymnasium's CartPole-v1 (Barto, Sutton and Anderson 1983): a pole stands on a cart,
/// and the agent pushes the cart to the left (action 0) or to the right (action 1) to
/// keep the pole upright. The reward is 1 for each step. An episode terminates when the
/// pole leans 12 degrees or the cart is 2.4 from the middle. It is truncated after 500
/// steps. A mean return of 475 counts as solved.
class CartPole {
public:
  using Action = int;
  /// Position, speed, angle from upright in radians, angular speed.
  using State = std::array<double, 4>;

  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 4; ///< The state.
  static constexpr int step_limit = 500;
  static constexpr double solved_at = 475;

  void reset(std::uint64_t seed);
  Step step(Action action);
  void observe(std::span<float> out) const;
  /// The state as a picture of 364 x 182 pixels.
  Image render() const;

  const State& state() const { return state_; }
  /// Continues from this state. The step count stays as it is.
  void set_state(const State& state) { state_ = state; }

private:
  State state_ = {};
  int steps_ = 0;
};

} // namespace fiber::rl
