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
int spins(ShortWaits& waits, int rounds, Wait... lengths) {
  int spins = 0;
  const auto wait = [&](ShortWaits::Duration length) {
    waits.renew();
    if (!waits.should_spin())
      return waits.slept(length);
    ++spins;
    length < ShortWaits::limit ? waits.found() : waits.found_nothing();
  };
  for (int round = 0; round < rounds; ++round)
    (wait(lengths), ...);
  return spins;
}

/// Simulates waits that are preempted whenever they spin. Returns how often they spun.
int preemptions(ShortWaits& waits, int rounds) {
  int preemptions = 0;
  for (int round = 0; round < rounds; ++round) {
    waits.renew();
    if (waits.should_spin()) {
      ++preemptions;
      waits.preempted();
    } else
      waits.slept(short_wait);
  }
  return preemptions;
}

TEST(ShortWaits, spins_from_the_first_short_wait_on) {
  ShortWaits waits;
  EXPECT_FALSE(waits.should_spin());
  waits.slept(short_wait);
  EXPECT_TRUE(waits.should_spin());
}

TEST(ShortWaits, long_waits_do_not_spin) {
  ShortWaits waits;
  EXPECT_EQ(spins(waits, 100, long_wait), 0);
}

TEST(ShortWaits, one_long_wait_among_many_short_ones_does_not_stop_spinning) {
  ShortWaits waits;
  spins(waits, 10, short_wait);
  EXPECT_EQ(spins(waits, 100, long_wait, short_wait, short_wait, short_wait), 400);
}

TEST(ShortWaits, spinning_stops_soon_when_waits_become_long) {
  ShortWaits waits;
  spins(waits, 1000, short_wait);
  EXPECT_LE(spins(waits, 1000, long_wait), 8);
}

TEST(ShortWaits, one_short_wait_among_long_ones_causes_one_spin) {
  ShortWaits waits;
  EXPECT_LE(spins(waits, 100, short_wait, long_wait, long_wait, long_wait), 100);
}

TEST(ShortWaits, repeated_preemption_suspends_spinning_for_longer_and_longer) {
  ShortWaits waits;
  waits.slept(short_wait);
  EXPECT_EQ(preemptions(waits, 10000), 15); // 16, 32, .., 512, 8 x 1024 waits in between.
}

TEST(ShortWaits, finding_work_shortens_the_suspension) {
  ShortWaits waits;
  waits.slept(short_wait);
  preemptions(waits, 10000);
  spins(waits, 5000, short_wait);
  ASSERT_EQ(spins(waits, 1, short_wait), 1);
  waits.preempted();
  int suspended = 0;
  for (; spins(waits, 1, short_wait) == 0; ++suspended) {
  }
  EXPECT_EQ(suspended, 16);
}

/// Simulates `rounds` events that end no wait. Returns how often it spun.
int spins_in_one_wait(ShortWaits& waits, int rounds) {
  int spins = 0;
  for (int round = 0; round < rounds; ++round)
    if (waits.should_spin()) {
      ++spins;
      waits.found();
    } else
      waits.slept(short_wait);
  return spins;
}

TEST(ShortWaits, a_long_wait_sleeps_until_something_comes) {
  ShortWaits waits;
  spins(waits, 10, short_wait);
  waits.renew();
  EXPECT_EQ(spins_in_one_wait(waits, 100), 8);
  waits.renew();
  EXPECT_EQ(spins_in_one_wait(waits, 100), 8);
}

TEST(ShortWaits, late_events_in_a_wait_do_not_train_the_predictor) {
  ShortWaits waits;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(waits.should_spin());
    waits.slept(i < 8 ? ShortWaits::Duration(long_wait) : short_wait);
  }
  waits.renew();
  EXPECT_FALSE(waits.should_spin());
}

} // namespace
