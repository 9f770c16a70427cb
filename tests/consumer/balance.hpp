// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <fiber/rl/environment.hpp>
#include <fiber/rl/random.hpp>

/// A ball on a beam: tilt the beam so that the ball stays in the middle. The reward of a
/// step is 1 less the distance.
class Balance {
public:
  using Action = std::array<float, 1>; // The tilt.
  static constexpr Action action_low = {-1}, action_high = {1};
  static constexpr std::size_t observation_size = 2; // Position and speed.

  void reset(std::uint64_t seed) {
    fiber::rl::Random random(seed);
    position_ = random.uniform(-0.5, 0.5);
    speed_ = random.uniform(-0.5, 0.5);
    steps_ = 0;
  }
  fiber::rl::Step step(Action tilt) {
    speed_ += 0.1 * std::clamp(tilt[0], -1.0F, 1.0F);
    position_ += 0.1 * speed_;
    const bool fallen = std::abs(position_) > 1;
    return {.reward = 1 - std::abs(position_),
            .terminated = fallen,
            .truncated = ++steps_ == 200};
  }
  void observe(std::span<float> out) const {
    out[0] = static_cast<float>(position_);
    out[1] = static_cast<float>(speed_);
  }

private:
  double position_ = 0, speed_ = 0;
  int steps_ = 0;
};
