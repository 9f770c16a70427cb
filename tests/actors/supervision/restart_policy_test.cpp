// SPDX-License-Identifier: Apache-2.0
// The promise: restarts are counted and delayed as the options say, to the millisecond.

#include "actors/supervision/restart_policy.hpp"
#include "base/bounded_time.hpp"
#include "fiber/detail/caf/error.hpp"

#include <limits>

#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>
#include <gtest/gtest.h>

using namespace fiber;
using namespace fiber::actors;
using namespace std::chrono_literals;

namespace {

TimePoint at(std::chrono::milliseconds time) {
  return TimePoint(1h + time);
}

TEST(Exit, an_exit_keeps_its_kind_and_text_as_a_caf_error) {
  for (auto kind : {ExitKind::planned, ExitKind::charged, ExitKind::lease, ExitKind::lost,
                    ExitKind::escalated}) {
    auto error = make_exit(kind, "because");
    ASSERT_TRUE(error); // A default error would mean a normal end.
    EXPECT_EQ(exit_kind(error), kind);
    EXPECT_EQ(exit_text(error), "because");
  }
}

TEST(Exit, the_exit_of_an_actor_that_was_done_or_asked_is_planned) {
  EXPECT_EQ(exit_kind({}), ExitKind::planned);
  EXPECT_EQ(exit_kind(caf::exit_reason::normal), ExitKind::planned);
  EXPECT_EQ(exit_kind(caf::exit_reason::user_shutdown), ExitKind::planned);
  EXPECT_EQ(exit_kind(restart_exit()), ExitKind::planned);
  EXPECT_TRUE(is_restart_exit(restart_exit()));
  for (auto& other : {caf::error(), caf::error(caf::exit_reason::user_shutdown),
                      make_exit(ExitKind::escalated, "")})
    EXPECT_FALSE(is_restart_exit(other));
  EXPECT_EQ(exit_text({}), "ended normally");
  EXPECT_EQ(exit_text(caf::exit_reason::user_shutdown), "was asked to end");
}

TEST(Exit, an_exit_of_unknown_cause_is_a_loss_with_a_readable_text) {
  EXPECT_EQ(exit_kind(caf::exit_reason::kill), ExitKind::lost);
  EXPECT_EQ(exit_text(caf::exit_reason::kill), "was killed");
  EXPECT_EQ(exit_kind(caf::sec::runtime_error), ExitKind::lost);
  EXPECT_EQ(exit_text(caf::sec::runtime_error), "threw an exception");
  EXPECT_EQ(exit_kind(caf::sec::bad_function_call), ExitKind::lost);
  EXPECT_EQ(exit_text(caf::sec::bad_function_call), "bad_function_call");
  // A code of this category under another one, and an unknown code of this category.
  EXPECT_EQ(exit_kind(detail::make_error(1, detail::exit_category, {})), ExitKind::lost);
  EXPECT_EQ(exit_kind(detail::make_error(99, detail::fiber_category, {})),
            ExitKind::lost);
}

TEST(StartsAgain, restarts_follow_the_table_of_restart_types) {
  using enum ExitKind;
  for (auto kind : {planned, charged, lease, lost, escalated}) {
    EXPECT_TRUE(starts_again(Restart::permanent, kind));
    EXPECT_EQ(starts_again(Restart::transient, kind), kind != planned);
    EXPECT_FALSE(starts_again(Restart::temporary, kind));
    EXPECT_EQ(is_failure(kind), kind == lost || kind == escalated);
  }
}

TEST(RestartWindow, a_window_allows_as_many_restarts_as_the_intensity) {
  RestartWindow window(2, 1000ms);
  EXPECT_TRUE(window.add(at(0ms)));
  EXPECT_TRUE(window.add(at(0ms)));
  EXPECT_FALSE(window.add(at(0ms)));
  EXPECT_EQ(window.count(), 3);
}

TEST(RestartWindow, a_window_of_intensity_zero_allows_no_restart) {
  EXPECT_FALSE(RestartWindow(0, 1000ms).add(at(0ms)));
}

TEST(RestartWindow, a_window_slides_and_includes_its_edge) {
  RestartWindow window(2, 1000ms);
  EXPECT_TRUE(window.add(at(0ms)));
  EXPECT_TRUE(window.add(at(600ms)));
  EXPECT_TRUE(window.add(at(1001ms))); // The first is out of the window.
  EXPECT_EQ(window.count(), 2);
  EXPECT_FALSE(window.add(at(1600ms))); // 600 is just within.
}

TEST(RestartWindow, a_window_without_a_period_never_forgets_by_itself) {
  RestartWindow window(2, {});
  EXPECT_TRUE(window.add(at(0ms)));
  EXPECT_TRUE(window.add(at(1h)));
  EXPECT_FALSE(window.add(at(1000h)));
}

TEST(RestartWindow, a_forgiven_window_counts_from_zero) {
  for (std::optional<std::chrono::milliseconds> period :
       {std::optional(1000ms), std::optional<std::chrono::milliseconds>()}) {
    RestartWindow window(1, period);
    EXPECT_TRUE(window.add(at(0ms)));
    window.forgive();
    EXPECT_EQ(window.count(), 0);
    EXPECT_TRUE(window.add(at(0ms)));
    EXPECT_FALSE(window.add(at(0ms)));
  }
}

TEST(FailureStreak, a_streak_grows_while_lives_are_short) {
  FailureStreak streak;
  streak.started(at(0s));
  EXPECT_EQ(streak.failed(at(10s), 10s), 1);
  streak.started(at(10s));
  EXPECT_EQ(streak.failed(at(20s), 10s), 2); // Ten seconds are not longer than ten.
  EXPECT_EQ(streak.failed(at(20s), 10s), 3);
}

TEST(FailureStreak, a_streak_begins_anew_after_a_long_life) {
  FailureStreak streak;
  EXPECT_EQ(streak.failed(at(0s), 10s), 1);
  EXPECT_EQ(streak.failed(at(0s), 10s), 2);
  streak.started(at(0s));
  EXPECT_EQ(streak.failed(at(10001ms), 10s), 1);
}

TEST(FailureStreak, the_time_between_failed_starts_does_not_end_a_streak) {
  FailureStreak streak;
  streak.started(at(0s));
  EXPECT_EQ(streak.failed(at(0s), 10s), 1);
  EXPECT_EQ(streak.failed(at(60s), 10s), 2); // It did not live in between.
}

TEST(FailureStreak, a_forgiven_streak_begins_anew) {
  FailureStreak streak;
  EXPECT_EQ(streak.failed(at(0s), 10s), 1);
  streak.forgive();
  EXPECT_EQ(streak.failed(at(0s), 10s), 1);
}

TEST(BackoffDice, the_first_restart_does_not_wait_and_later_ones_wait_longer_and_longer) {
  BackoffDice dice({.first = 100ms, .most = 1000ms, .factor = 2, .jitter = 0}, 0);
  std::vector<std::chrono::milliseconds> waits;
  for (int failures = 1; failures <= 7; ++failures)
    waits.push_back(dice.wait(failures));
  EXPECT_EQ(waits, (std::vector{0ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}));
}

TEST(BackoffDice, the_same_seed_draws_the_same_waits) {
  BackoffDice one({}, 7), two({}, 7), three({}, 8);
  std::vector<std::chrono::milliseconds> from_one, from_two, from_three;
  for (int failures = 1; failures <= 9; ++failures) {
    from_one.push_back(one.wait(failures));
    from_two.push_back(two.wait(failures));
    from_three.push_back(three.wait(failures));
  }
  EXPECT_EQ(from_one, from_two);
  EXPECT_NE(from_one, from_three);
}

TEST(BackoffDice, waits_stay_within_the_jitter_and_the_maximum) {
  BackoffDice dice({.first = 1000ms, .most = 4000ms, .factor = 2, .jitter = 0.25}, 1);
  auto low = 10000ms, high = 0ms;
  for (int i = 0; i < 2000; ++i) {
    auto wait = dice.wait(3);
    low = std::min(low, wait);
    high = std::max(high, wait);
    auto longest = dice.wait(20);
    ASSERT_GE(longest, 3000ms);
    ASSERT_LE(longest, 4000ms);
  }
  EXPECT_GE(low, 1500ms);
  EXPECT_LE(low, 1510ms); // It uses all of the range.
  EXPECT_LE(high, 2500ms);
  EXPECT_GE(high, 2490ms);
}

TEST(BackoffDice, senseless_backoff_options_are_made_valid) {
  auto wait = [](Backoff backoff, int failures) {
    return BackoffDice(backoff, 3).wait(failures);
  };
  auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(wait({.first = 0ms, .jitter = 0}, 1 << 30), 0ms);
  EXPECT_EQ(wait({.first = -5ms, .jitter = 0}, 5), 0ms);
  EXPECT_EQ(wait({.first = 100ms, .most = -1ms}, 5), 0ms);
  EXPECT_EQ(wait({.first = 100ms, .factor = 0.1, .jitter = 0}, 5), 100ms);
  EXPECT_EQ(wait({.first = 100ms, .factor = nan, .jitter = 0}, 5), 100ms);
  EXPECT_EQ(wait({.first = 100ms, .factor = 2, .jitter = nan}, 2), 100ms);
  EXPECT_EQ(wait({.first = 100ms, .most = 5s, .factor = 10, .jitter = 0}, 1 << 30), 5s);
  EXPECT_LE(wait({.first = 100ms, .jitter = 50}, 2), 200ms);
  const auto longest = std::chrono::milliseconds::max();
  EXPECT_EQ(wait({.first = longest, .most = 5s, .jitter = 0}, 2), 5s);
  EXPECT_EQ(wait({.first = longest, .most = longest, .jitter = 0}, 5), longest_time);
}

} // namespace
