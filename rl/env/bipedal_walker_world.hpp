// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include <box2d/box2d.h>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"
#include "fiber/rl/terrain.hpp"
#include "rl/env/revolute_joint.hpp"

namespace fiber::rl::walker {

constexpr double start_push = 5; ///< The most, in newtons.

/// The physics of BipedalWalker: all that is random comes from outside.
class World final : b2ContactListener {
public:
  /// `push` is a force to the right, in newtons, during the first step.
  World(const Terrain& terrain, double push);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Step step(const std::array<float, 4>& action);
  void observe(std::span<float> out) const;
  Image render() const;
  std::array<double, 2> position() const {
    return {hull_->GetPosition().x, hull_->GetPosition().y};
  }

private:
  static constexpr std::size_t rays = 10;

  struct Leg {
    b2Body *upper = nullptr, *lower = nullptr;
    std::unique_ptr<RevoluteJoint> hip, knee;
    bool on_ground = false;
  };

  void make_ground(const Terrain& terrain);
  void make_hull(double push);
  Leg make_leg(int side);
  b2Body* make_limb(double half_width, double y, int side);
  void measure_distances();
  void BeginContact(b2Contact* contact) override;
  void EndContact(b2Contact* contact) override;

  b2World world_;
  b2Body* hull_ = nullptr;
  std::array<Leg, 2> legs_;
  std::array<float, rays> distances_ = {};
  bool fallen_ = false;
  double potential_ = 0; ///< Its gain is the reward.
};

} // namespace fiber::rl::walker
