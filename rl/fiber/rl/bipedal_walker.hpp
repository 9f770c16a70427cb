// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"
#include "fiber/rl/terrain.hpp"

namespace fiber::rl {

/// Gymnasium's BipedalWalker-v3: a hull on two legs, each with a hip and a knee, that
/// walks to the right over uneven ground. Needs a build with Box2D (the CMake option
/// FIBER_BOX2D).
///
/// An action is the torque of the first leg's hip and knee, then of the second leg's,
/// each clipped to [-1, 1]. An observation is
///
///   0-3    the hull's angle, angular speed, speed x and y
///   4-8    the first leg: hip's angle and speed, knee's angle and speed, 1 if its foot
///          touches the ground
///   9-13   the second leg, likewise
///   14-23  the distance to the ground along ten rays, from straight down to forwards;
///          1 is 5.33 metres or more
///
/// with Gymnasium's scales: angles in radians, speeds near [-1, 1].
///
/// The reward is 4.33 for each metre to the right, less 5 x the gain of |hull's angle|,
/// less 0.028 for each unit of torque. An episode terminates with a reward of -100 when
/// the hull touches the ground or passes the left edge of the terrain. It also terminates
/// at the right end of the terrain, and is truncated after step_limit steps. A mean
/// return of 300 counts as solved.
///
/// On the same terrain, the first steps agree with Gymnasium's to about 1e-5. The error
/// then grows, to 1e-2 at first. Returns have the same distribution as in a newly made
/// Gymnasium environment. After a reset, a Gymnasium environment that was used before
/// solves contacts in another order, which changes the returns of some policies. The
/// random numbers differ, so a seed gives another terrain than in Gymnasium.
///
/// Thread safety: none; it may move to another thread between calls.
class BipedalWalker {
public:
  using Action = std::array<float, 4>;

  static constexpr Action action_low{-1, -1, -1, -1};
  static constexpr Action action_high{1, 1, 1, 1};
  static constexpr std::size_t observation_size = 24;
  static constexpr int step_limit = 1600;
  static constexpr double solved_at = 300;

  /// Walks on Gymnasium's slightly uneven ground.
  BipedalWalker() : BipedalWalker(TerrainOptions{}) {}

  /// Walks on terrain of this kind, made anew for each episode. An episode has at most
  /// `limit` steps. Throws std::invalid_argument for options that are out of their
  /// ranges.
  explicit BipedalWalker(const TerrainOptions& options, int limit = step_limit);

  /// Walks on the same terrain in each episode. Throws std::invalid_argument unless it
  /// has Terrain::points finite heights and boxes of at least 1 cm.
  explicit BipedalWalker(Terrain terrain, int limit = step_limit);

  BipedalWalker(BipedalWalker&&) noexcept;
  BipedalWalker& operator=(BipedalWalker&&) noexcept;
  ~BipedalWalker();

  /// Starts an episode. The seed decides the terrain, unless it is fixed, and a small
  /// push.
  void reset(std::uint64_t seed);

  /// Acts for 1/50 of a second. Throws std::invalid_argument for a torque that is not a
  /// number, std::logic_error before the first reset().
  Step step(Action action);

  /// Writes observation_size floats. Throws std::logic_error before the first reset().
  void observe(std::span<float> out) const;

  /// A picture of the walker and the 20 metres around it. Throws std::logic_error before
  /// the first reset().
  Image render() const;

  /// The middle of the hull: metres to the right and up, in the coordinates of terrain().
  /// Throws std::logic_error before the first reset().
  std::array<double, 2> position() const;

  /// What the walker walks on. Throws std::logic_error before the first reset().
  const Terrain& terrain() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Gymnasium's BipedalWalkerHardcore-v3: a BipedalWalker on terrain with stumps, pits and
/// stairs, and 2,000 steps an episode.
class BipedalWalkerHardcore : public BipedalWalker {
public:
  static constexpr int step_limit = 2000;

  BipedalWalkerHardcore() : BipedalWalker(hardcore_terrain(), step_limit) {}
};

} // namespace fiber::rl
