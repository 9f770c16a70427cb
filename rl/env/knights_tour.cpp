// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/knights_tour.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {
namespace knight {

/// Calls f(square) for each square that is a jump away.
template <class F>
void each_jump(int from, F f) {
  constexpr std::array<std::array<int, 2>, 8> jumps = {
    {{-2, -1}, {-2, 1}, {-1, -2}, {-1, 2}, {1, -2}, {1, 2}, {2, -1}, {2, 1}}};
  constexpr auto side = KnightsTour::side;
  for (const auto& [rows, columns] : jumps) {
    const auto row = from / side + rows, column = from % side + columns;
    if (row >= 0 && row < side && column >= 0 && column < side)
      f(row * side + column);
  }
}

} // namespace knight
} // namespace

void KnightsTour::visit(int square) {
  path_[static_cast<std::size_t>(visited_++)] = square;
  seen_[static_cast<std::size_t>(square)] = true;
}

void KnightsTour::reset(std::uint64_t seed) {
  visited_ = 0;
  seen_ = {};
  visit(static_cast<int>(Random(seed).below(actions)));
}

Step KnightsTour::step(Action action) {
  std::array<std::uint8_t, actions> possible;
  mask(possible);
  if (action < 0 || action >= actions || possible[static_cast<std::size_t>(action)] == 0)
    throw std::invalid_argument(
      "the knight can't jump from square " + std::to_string(path().back()) +
      " to square " + std::to_string(action) + ": it is no jump away, or visited");
  visit(action);
  mask(possible);
  return {.reward = 1, .terminated = std::ranges::count(possible, 1) == 0};
}

void KnightsTour::observe(std::span<float> out) const {
  const auto place = std::ranges::copy(seen_, out.begin()).out;
  std::fill(place, out.end(), 0.0F);
  if (visited_ > 0)
    place[path().back()] = 1;
}

void KnightsTour::mask(std::span<std::uint8_t> out) const {
  std::ranges::fill(out, std::uint8_t{0});
  if (visited_ > 0)
    knight::each_jump(path().back(), [&](int square) {
      const auto at = static_cast<std::size_t>(square);
      out[at] = seen_[at] ? 0 : 1;
    });
}

} // namespace fiber::rl
