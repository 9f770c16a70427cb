// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include <box2d/box2d.h>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"
#include "rl/env/revolute_joint.hpp"

namespace fiber::rl::lander {

/// The random numbers that a start consists of.
struct Start {
  std::array<double, 12> heights = {}; ///< Of the hills, in metres, before smoothing.
  double force_x = 0, force_y = 0;     ///< The push, in newtons, during the first step.
};

constexpr double start_force = 1000;        ///< The most in each direction.
constexpr double highest_hill = 400.0 / 60; ///< Half the screen.

/// The physics of LunarLander: all that is random comes from outside.
class World final : b2ContactListener {
public:
  explicit World(const Start& start);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// `noise` displaces the engines' jets: two numbers in [-1, 1).
  Step step(int action, std::array<double, 2> noise);
  void observe(std::span<float> out) const;
  Image render() const;

private:
  struct Leg {
    b2Body* body = nullptr;
    std::unique_ptr<RevoluteJoint> joint;
    bool on_ground = false;
  };

  void make_ground(const Start& start);
  void make_lander(const Start& start);
  Leg make_leg(int side);
  void fire_main_engine(std::array<double, 2> noise);
  void fire_side_engine(int direction, std::array<double, 2> noise);
  /// Lets the world go on; returns the gain of the potential.
  double advance();
  std::array<double, 8> observation() const;
  void BeginContact(b2Contact* contact) override;
  void EndContact(b2Contact* contact) override;

  b2World world_;
  b2Body* lander_ = nullptr;
  std::array<Leg, 2> legs_;
  bool crashed_ = false;
  int steps_at_rest_ = 0;
  double potential_ = 0; ///< Its gain is the reward.
};

} // namespace fiber::rl::lander
