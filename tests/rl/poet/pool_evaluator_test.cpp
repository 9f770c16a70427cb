// SPDX-License-Identifier: Apache-2.0
// The number of workers follows the number of environments.

#include "rl/poet/pool_evaluator.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace fiber::rl::poet {
namespace {

TEST(WorkerRangeTest, grows_with_the_environments_from_the_least_to_the_most) {
  const WorkerRange range{.least = 2, .most = 8};
  EXPECT_EQ(range.for_pairs(1, 40), 2u);
  EXPECT_EQ(range.for_pairs(2, 40), 3u);
  EXPECT_EQ(range.for_pairs(20, 40), 5u);
  EXPECT_EQ(range.for_pairs(40, 40), 8u);
  EXPECT_EQ(range.for_pairs(1, 1), 8u);
  std::size_t last = 0;
  for (std::size_t pairs = 1; pairs <= 40; ++pairs) {
    EXPECT_GE(range.for_pairs(pairs, 40), last);
    last = range.for_pairs(pairs, 40);
  }
}

TEST(WorkerRangeTest, is_read_from_a_word) {
  EXPECT_EQ(parse_workers("4").least, 4u);
  EXPECT_EQ(parse_workers("4").most, 4u);
  EXPECT_EQ(parse_workers("2..8").least, 2u);
  EXPECT_EQ(parse_workers("2..8").most, 8u);
  for (const auto* wrong : {"", "0", "two", "2..", "..8", "8..2", "2...8", "-1", "2-8"})
    EXPECT_THROW(parse_workers(wrong), std::invalid_argument) << wrong;
}

} // namespace
} // namespace fiber::rl::poet
