// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"

namespace fiber::rl {

/// Gymnasium's LunarLander-v3, without wind: a lander with two sprung legs must land on a
/// pad between two flags. It starts with a random push, over random hills. Needs a build
/// with Box2D (the CMake option FIBER_BOX2D).
///
/// Actions: 0 nothing; 1 fires the left side engine, 2 the main engine, 3 the right side
/// engine. An observation is position x and y relative to the pad (1 is the edge of the
/// screen), speed x and y, angle in radians, 0.4 times the angular speed, and 1 for each
/// leg that touches the ground.
///
/// The reward is the change in this step of -100 x distance from the pad - 100 x speed
/// - 100 x |angle| + 10 for each leg on the ground; less 0.3 for firing the main engine
/// and 0.03 for a side engine. An episode terminates with a reward of -100 when the hull
/// touches the ground or the lander leaves the screen to a side, and with +100 when it
/// has come to rest. It is truncated after 1,000 steps. A mean return of 200 counts as
/// solved.
///
/// With the same hills, push and noise, an episode agrees with Gymnasium's to about 1e-5
/// until the first contact, and mostly to 1e-3 until it ends. The random numbers differ,
/// so a seed gives another episode than in Gymnasium.
///
/// Thread safety: none; it may move to another thread between calls.
class LunarLander {
public:
  using Action = int;

  static constexpr int actions = 4;
  static constexpr std::size_t observation_size = 8;
  static constexpr int step_limit = 1000;
  static constexpr double solved_at = 200;

  LunarLander();
  LunarLander(LunarLander&&) noexcept;
  LunarLander& operator=(LunarLander&&) noexcept;
  ~LunarLander();

  /// Starts an episode. The seed decides the hills, the push and the noise of the
  /// engines.
  void reset(std::uint64_t seed);

  /// Acts for 1/50 of a second. Throws std::invalid_argument for an action that does not
  /// exist, std::logic_error before the first reset().
  Step step(Action action);

  /// Writes observation_size floats. Throws std::logic_error before the first reset().
  void observe(std::span<float> out) const;

  /// A picture of the screen. Throws std::logic_error before the first reset().
  Image render() const;

private:
  struct Episode;
  std::unique_ptr<Episode> episode_;
};

} // namespace fiber::rl
