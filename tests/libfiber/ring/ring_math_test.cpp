// SPDX-License-Identifier: Apache-2.0
// The promise: values are reduced element by element and split as numpy.array_split does.
#include "libfiber/ring/ring_math.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::detail {
namespace {

template <class T>
class RingMath : public testing::Test {};
using RingTypes = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(RingMath, RingTypes);

TYPED_TEST(RingMath, values_are_reduced_element_by_element) {
  using T = TypeParam;
  constexpr auto type = ring_type<T>();
  EXPECT_EQ(size_of(type), sizeof(T));
  const std::vector<T> a{1, -2, 30}, b{4, 5, -6};
  std::vector<T> out(3);
  ring_reduce(type, RingOp::sum)(out.data(), a.data(), b.data(), 3);
  EXPECT_EQ(out, (std::vector<T>{5, 3, 24}));
  ring_reduce(type, RingOp::min)(out.data(), a.data(), b.data(), 3);
  EXPECT_EQ(out, (std::vector<T>{1, -2, -6}));
  ring_reduce(type, RingOp::max)(out.data(), a.data(), b.data(), 3);
  EXPECT_EQ(out, (std::vector<T>{4, 5, 30}));
  auto same = a;
  ring_reduce(type, RingOp::mean)(same.data(), same.data(), b.data(), 2);
  EXPECT_EQ(same, (std::vector<T>{5, 3, 30}));
  divide(same.data(), 3, type, 2);
  EXPECT_EQ(same, (std::vector<T>{static_cast<T>(2.5), static_cast<T>(1.5), 15}));
}

TEST(RingPart, parts_are_of_nearly_equal_size) {
  for (std::size_t members = 1; members <= 5; ++members)
    for (std::size_t n = 0; n <= 12; ++n) {
      std::size_t next = 0, most = ring_part(n, members, 0).n;
      for (std::size_t rank = 0; rank < members; ++rank) {
        auto part = ring_part(n, members, rank);
        EXPECT_EQ(part.first, next);
        EXPECT_LE(part.n, most);
        EXPECT_GE(part.n + 1, most);
        next += part.n;
      }
      EXPECT_EQ(next, n);
    }
  EXPECT_EQ(ring_part(7, 3, 0).n, 3U);
  EXPECT_EQ(ring_part(7, 3, 1).n, 2U);
}

} // namespace
} // namespace fiber::detail
