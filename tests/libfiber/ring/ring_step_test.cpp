// SPDX-License-Identifier: Apache-2.0
// The promise: members of a ring that call different things are named with what they
// call, shortly even if there are many.
#include "libfiber/ring/ring_step.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::detail {
namespace ring_step {
namespace {

using Call = RingStep::Call;

constexpr RingStep reduce{.n = 4, .call = Call::allreduce};

std::string told(const std::vector<RingStep>& members) {
  return difference(members).value_or("no difference");
}

TEST(RingStep, the_same_calls_do_not_differ) {
  EXPECT_EQ(told({}), "no difference");
  EXPECT_EQ(told({reduce}), "no difference");
  EXPECT_EQ(told({reduce, reduce, reduce}), "no difference");
}

TEST(RingStep, each_call_is_named_with_what_it_was_given) {
  EXPECT_EQ(text_of(reduce), "allreduce of 4 float by Sum");
  EXPECT_EQ(
    text_of(
      {.n = 1, .call = Call::reduce_scatter, .type = RingType::i64, .op = RingOp::mean}),
    "reduce_scatter of 1 std::int64_t by Mean");
  EXPECT_EQ(text_of({.n = 0, .root = 3, .call = Call::broadcast, .type = RingType::f64}),
            "broadcast of 0 double from rank 3");
  EXPECT_EQ(text_of({.n = 2, .call = Call::allgather, .type = RingType::i32}),
            "allgather of 2 std::int32_t");
  EXPECT_EQ(text_of({.call = Call::barrier}), "barrier");
  EXPECT_EQ(text_of({.call = Call::leave}), "the end of the function");
}

TEST(RingStep, each_part_of_a_call_counts) {
  const RingStep others[] = {
    {.n = 5, .call = Call::allreduce},
    {.n = 4, .root = 1, .call = Call::allreduce},
    {.n = 4, .call = Call::reduce_scatter},
    {.n = 4, .call = Call::allreduce, .type = RingType::i32},
    {.n = 4, .call = Call::allreduce, .op = RingOp::max},
  };
  for (auto& other : others)
    EXPECT_NE(told({reduce, other}), "no difference") << text_of(other);
}

TEST(RingStep, members_with_the_same_call_are_named_together) {
  const RingStep wait{.call = Call::barrier};
  EXPECT_EQ(told({reduce, wait}), "rank 0: allreduce of 4 float by Sum; rank 1: barrier");
  EXPECT_EQ(told({wait, reduce, reduce, reduce, wait, reduce}),
            "ranks 0, 4: barrier; ranks 1-3, 5: allreduce of 4 float by Sum");
  EXPECT_EQ(told({wait, wait, reduce}),
            "ranks 0, 1: barrier; rank 2: allreduce of 4 float by Sum");
}

TEST(RingStep, not_every_one_of_many_calls_is_named) {
  std::vector<RingStep> members;
  for (std::size_t rank = 0; rank < 100; ++rank)
    members.push_back({.n = rank, .call = Call::allgather});
  auto text = told(members);
  EXPECT_NE(text.find("; rank 7: allgather of 7 float; and 92 other calls"),
            std::string::npos)
    << text;
}

} // namespace
} // namespace ring_step
} // namespace fiber::detail
