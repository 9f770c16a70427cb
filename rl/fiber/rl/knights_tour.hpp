// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"

namespace fiber::rl {

/// The knight's tour: a knight of chess jumps over a board of 8 x 8 squares and visits no
/// square twice. An action is the square to jump to, 8 * row + column. mask() forbids the
/// squares that are no jump away and those visited before: about 95 of 100 actions. The
/// reward is 1 for each jump. An episode terminates when no jump is left, after at most
/// 63 jumps. The first square is random.
///
/// An observation is 128 numbers, 0 or 1: for each square whether it was visited, then
/// for each square whether the knight is there.
class KnightsTour {
public:
  using Action = int;

  static constexpr int side = 8;
  static constexpr int actions = side * side;
  static constexpr std::size_t observation_size = 2 * actions;

  void reset(std::uint64_t seed);
  /// Throws std::invalid_argument for a square that mask() forbids.
  Step step(Action action);
  void observe(std::span<float> out) const;
  void mask(std::span<std::uint8_t> out) const;
  /// The board with the jumps so far, as a picture of 256 x 256 pixels.
  Image render() const;

  /// The squares visited so far, in their order. The knight is on the last one.
  std::span<const int> path() const {
    return std::span(path_).first(static_cast<std::size_t>(visited_));
  }

private:
  void visit(int square);

  std::array<int, actions> path_ = {};
  int visited_ = 0; ///< Squares of path_.
  std::array<bool, actions> seen_ = {};
};

} // namespace fiber::rl
