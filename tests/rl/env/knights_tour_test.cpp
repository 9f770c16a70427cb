// SPDX-License-Identifier: Apache-2.0
// The knight jumps as in chess, to no square twice, and its mask says where to.

#include "fiber/rl/knights_tour.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {

using Mask = std::array<std::uint8_t, KnightsTour::actions>;

std::vector<int> possible(const KnightsTour& tour) {
  Mask mask;
  tour.mask(mask);
  std::vector<int> squares;
  for (int square = 0; square < KnightsTour::actions; ++square)
    if (mask[static_cast<std::size_t>(square)] == 1)
      squares.push_back(square);
  return squares;
}

TEST(KnightsTourTest, the_mask_has_the_jumps_of_chess_to_new_squares) {
  Random random(3);
  for (std::uint64_t episode = 0; episode < 50; ++episode) {
    KnightsTour tour;
    tour.reset(episode);
    for (bool over = false; !over;) {
      const auto path = tour.path();
      const auto here = path.back();
      std::vector<int> expected;
      for (int square = 0; square < KnightsTour::actions; ++square) {
        const auto rows = std::abs(square / 8 - here / 8),
                   columns = std::abs(square % 8 - here % 8);
        if (rows * columns == 2 && std::ranges::count(path, square) == 0)
          expected.push_back(square);
      }
      const auto jumps = possible(tour);
      ASSERT_EQ(jumps, expected);
      const auto step = tour.step(jumps[random.below(jumps.size())]);
      over = step.terminated;
      EXPECT_EQ(step.reward, 1);
      EXPECT_FALSE(step.truncated);
      EXPECT_EQ(over, possible(tour).empty());
    }
  }
}

TEST(KnightsTourTest, shows_what_was_visited_and_where_the_knight_is) {
  KnightsTour tour;
  tour.reset(5);
  const auto first = tour.path().front();
  const auto second = possible(tour).front();
  tour.step(second);
  std::array<float, KnightsTour::observation_size> seen;
  tour.observe(seen);
  for (int square = 0; square < KnightsTour::actions; ++square) {
    const auto at = static_cast<std::size_t>(square);
    EXPECT_EQ(seen[at], square == first || square == second);
    EXPECT_EQ(seen[at + KnightsTour::actions], square == second);
  }
}

TEST(KnightsTourTest, begins_anywhere_and_the_same_for_the_same_seed) {
  std::set<int> starts;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    KnightsTour tour, again;
    tour.reset(seed);
    again.reset(seed);
    EXPECT_EQ(tour.path().front(), again.path().front());
    starts.insert(tour.path().front());
  }
  EXPECT_EQ(starts.size(), 64u);
}

TEST(KnightsTourTest, a_jump_that_there_is_not_is_an_error) {
  KnightsTour tour;
  tour.reset(5);
  for (const int square : {tour.path().front(), -1, 64})
    EXPECT_THROW(tour.step(square), std::invalid_argument);
}

/// Warnsdorff's rule: to the square with the fewest jumps from there.
TEST(KnightsTourTest, a_tour_of_the_whole_board_ends_after_63_jumps) {
  int longest = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    KnightsTour tour;
    tour.reset(seed);
    int jumps = 0;
    for (bool over = false; !over; ++jumps) {
      const auto next = possible(tour);
      over = tour
               .step(*std::ranges::min_element(next, {},
                                               [&](int square) {
                                                 auto there = tour;
                                                 there.step(square);
                                                 return possible(there).size();
                                               }))
               .terminated;
    }
    longest = std::max(longest, jumps);
  }
  EXPECT_EQ(longest, 63);
}

} // namespace
} // namespace fiber::rl
