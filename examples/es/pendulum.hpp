// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "es/environment.hpp"

namespace es {

/// Gymnasium's Pendulum-v1: a pendulum to be swung up and held by a motor that is too
/// weak to lift it straight. Reward is minus a cost of angle, speed and torque; 200
/// steps. Action: one number, the torque, clipped to [-2, 2].
class Pendulum : public Environment {
public:
  /// Angle from upright, angular speed.
  using State = std::array<double, 2>;

  std::size_t observation_size() const override { return 3; }
  std::size_t action_size() const override { return 1; }
  std::size_t step_limit() const override { return 200; }
  std::span<const float> observation() const override { return observation_; }

  const State& state() const { return state_; }
  void set_state(const State& state);

private:
  void start(Random& random) override;
  Step advance(std::span<const float> action) override;

  State state_ = {};
  std::array<float, 3> observation_ = {}; // Cosine, sine, angular speed.
};

} // namespace es
