// SPDX-License-Identifier: Apache-2.0
// Random numbers follow from their key alone, and are spread as they should be.
#include "fiber/rl/random.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

TEST(RandomTest, equal_keys_give_equal_numbers_and_others_differ) {
  const Random same(1, {4, 2, 3});
  auto first = [](Random random) { return random.next(); };
  EXPECT_EQ(first(same), first(Random(1, {4, 2, 3})));
  EXPECT_NE(first(same), first(Random(1, {4, 3, 2})));
  EXPECT_NE(first(same), first(Random(1, {4, 2})));
  EXPECT_NE(first(same), first(Random(2, {4, 2, 3})));
  EXPECT_NE(first(same), first(Random(1, {5, 2, 3})));
}

TEST(RandomTest, below_reaches_every_number_and_no_other) {
  Random random(1);
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i)
    ++seen.at(random.below(7));
  for (int count : seen)
    EXPECT_NEAR(count, 1000, 150);
}

} // namespace
} // namespace fiber::rl
