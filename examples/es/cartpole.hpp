// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "es/environment.hpp"

namespace es {

/// Gymnasium's CartPole-v1: a pole on a cart, to be kept upright by pushes to the left
/// and to the right. Reward 1 a step; ends when the pole leans 12 degrees or the cart
/// is 2.4 from the middle, after 500 steps at the latest. Action: one number, above 0 is
/// right.
class CartPole : public Environment {
public:
  /// Position, speed, angle from upright, angular speed.
  using State = std::array<double, 4>;

  std::size_t observation_size() const override { return 4; }
  std::size_t action_size() const override { return 1; }
  std::size_t step_limit() const override { return 500; }
  std::optional<double> solved_at() const override { return 475.0; }
  std::span<const float> observation() const override { return observation_; }

  const State& state() const { return state_; }
  void set_state(const State& state);

private:
  void start(Random& random) override;
  Step advance(std::span<const float> action) override;

  State state_ = {};
  std::array<float, 4> observation_ = {}; // Gymnasium hands out float32, too.
};

} // namespace es
