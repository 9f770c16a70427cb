// SPDX-License-Identifier: Apache-2.0
// The promise: a thread with mostly short waits spins before it sleeps; a thread with
// mostly long waits, or on a busy processor, does not.

#include "wire/short_waits.hpp"

#include <gtest/gtest.h>

using namespace fiber::wire;

namespace {

constexpr auto short_wait = ShortWaits::limit / 2;
constexpr auto long_wait = ShortWaits::limit * 5;

/// Simulates `rounds` waits for answers that come after these times. Returns how often it
/// spun.
template <class... Wait>
int looks(ShortWaits& waits, int rounds, Wait... lengths) {
  int looks = 0;
  const auto wait = [&](ShortWaits::Duration length) {
    waits.renew();
    if (!waits.expected())
      return waits.slept(length);
    ++looks;
    length < ShortWaits::limit ? waits.found() : waits.found_nothing();
  };
  for (int round = 0; round < rounds; ++round)
    (wait(lengths), ...);
  return looks;
}

/// Simulates waits that are preempted whenever they spin. Returns how often they spun.
int losses(ShortWaits& waits, int rounds) {
  int losses = 0;
  for (int round = 0; round < rounds; ++round) {
    waits.renew();
    if (waits.expected()) {
      ++losses;
      waits.lost_processor();
    } else
      waits.slept(short_wait);
  }
  return losses;
}

TEST(ShortWaits, spins_from_the_first_short_wait_on) {
  ShortWaits waits;
  EXPECT_FALSE(waits.expected());
  waits.slept(short_wait);
  EXPECT_TRUE(waits.expected());
}

TEST(ShortWaits, long_waits_do_not_spin) {
  ShortWaits waits;
  EXPECT_EQ(looks(waits, 100, long_wait), 0);
}

TEST(ShortWaits, one_long_wait_among_many_short_ones_does_not_stop_spinning) {
  ShortWaits waits;
  looks(waits, 10, short_wait);
  EXPECT_EQ(looks(waits, 100, long_wait, short_wait, short_wait, short_wait), 400);
}

TEST(ShortWaits, spinning_stops_soon_when_waits_become_long) {
  ShortWaits waits;
  looks(waits, 1000, short_wait);
  EXPECT_LE(looks(waits, 1000, long_wait), 8);
}

TEST(ShortWaits, one_short_wait_among_long_ones_causes_one_spin) {
  ShortWaits waits;
  EXPECT_LE(looks(waits, 100, short_wait, long_wait, long_wait, long_wait), 100);
}

TEST(ShortWaits, repeated_preemption_suspends_spinning_for_longer_and_longer) {
  ShortWaits waits;
  waits.slept(short_wait);
  EXPECT_EQ(losses(waits, 10000), 15); // 16, 32, .., 512, 8 x 1024 waits in between.
}

TEST(ShortWaits, finding_work_shortens_the_suspension) {
  ShortWaits waits;
  waits.slept(short_wait);
  losses(waits, 10000);
  looks(waits, 5000, short_wait);
  ASSERT_EQ(looks(waits, 1, short_wait), 1);
  waits.lost_processor();
  int held_off = 0;
  for (; looks(waits, 1, short_wait) == 0; ++held_off) {
  }
  EXPECT_EQ(held_off, 16);
}

/// Simulates `rounds` events that end no wait. Returns how often it spun.
int looks_in_one_wait(ShortWaits& waits, int rounds) {
  int looks = 0;
  for (int round = 0; round < rounds; ++round)
    if (waits.expected()) {
      ++looks;
      waits.found();
    } else
      waits.slept(short_wait);
  return looks;
}

TEST(ShortWaits, a_long_wait_sleeps_until_something_comes) {
  ShortWaits waits;
  looks(waits, 10, short_wait);
  waits.renew();
  EXPECT_EQ(looks_in_one_wait(waits, 100), 8);
  waits.renew();
  EXPECT_EQ(looks_in_one_wait(waits, 100), 8);
}

TEST(ShortWaits, late_events_in_a_wait_do_not_train_the_predictor) {
  ShortWaits waits;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(waits.expected());
    waits.slept(i < 8 ? ShortWaits::Duration(long_wait) : short_wait);
  }
  waits.renew();
  EXPECT_FALSE(waits.expected());
}

} // namespace
