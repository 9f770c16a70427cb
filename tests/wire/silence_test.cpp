// SPDX-License-Identifier: Apache-2.0
// The promise: a peer is reported as silent when it is, and not because we were stopped.

#include "wire/silence.hpp"

#include <gtest/gtest.h>

namespace fiber::wire {
namespace {

using namespace std::chrono_literals;

struct SilenceTest : testing::Test {
  bool tick(Silence::Duration passed, bool heard = false) {
    now += passed;
    return silence.tick(now, heard);
  }
  Silence::TimePoint now{100h};
  Silence silence{1s, 10s};
};

TEST_F(SilenceTest, silence_is_reported_once_when_the_limit_is_reached) {
  tick(1s);
  for (int i = 1; i < 10; ++i)
    EXPECT_FALSE(tick(1s)) << i;
  EXPECT_TRUE(tick(1s));
  for (int i = 0; i < 30; ++i)
    EXPECT_FALSE(tick(1s));
}

TEST_F(SilenceTest, any_byte_ends_a_silence_and_the_next_one_is_reported) {
  tick(1s);
  for (int i = 1; i < 10; ++i)
    tick(1s);
  EXPECT_FALSE(tick(1s, true));
  for (int i = 1; i < 10; ++i)
    EXPECT_FALSE(tick(1s)) << i;
  EXPECT_TRUE(tick(1s));
  EXPECT_FALSE(tick(1s, true));
  int said = 0;
  for (int i = 0; i < 20; ++i)
    said += tick(1s);
  EXPECT_EQ(said, 1);
}

TEST_F(SilenceTest, time_in_which_we_were_stopped_does_not_count) {
  tick(1s);
  EXPECT_FALSE(tick(1h));
  EXPECT_FALSE(tick(1h)); // Two ticks each, so 4 s by now.
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(tick(1s)) << i;
  EXPECT_TRUE(tick(1s));
}

} // namespace
} // namespace fiber::wire
