// SPDX-License-Identifier: Apache-2.0
// The promise: the content of progress lines, and their intervals where lines cannot be
// redrawn.

#include "libfiber/monitor/progress.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::detail {
namespace {

using std::chrono::duration;

ProgressView half() {
  ProgressView view;
  view.name = "pool0/1";
  view.done = 500;
  view.total = 1000;
  view.per_second = 41.7;
  view.elapsed = duration<double>(12);
  view.pool = PoolStats{};
  view.pool->workers = 4;
  return view;
}

TEST(Progress, a_line_shows_amount_rate_and_remaining_time) {
  EXPECT_EQ(live_text(half(), 120),
            "pool0/1 [##########          ] 500/1000 50 %  42/s  ETA 0:12  4 workers");
}

TEST(Progress, the_bar_is_left_out_where_there_is_no_room) {
  EXPECT_EQ(live_text(half(), 60), "pool0/1 500/1000 50 %  42/s  ETA 0:12  4 workers");
}

TEST(Progress, a_line_shows_retries_and_failures) {
  auto view = half();
  view.pool->workers = 1;
  view.pool->retries = 2;
  view.failed = 3;
  EXPECT_EQ(live_text(view, 10),
            "pool0/1 500/1000 50 %  42/s  ETA 0:12  1 worker  2 retries  3 failed");
}

TEST(Progress, a_line_shows_what_jobs_wait_for_and_since_when) {
  auto view = half();
  view.waiting = {3, "Unschedulable: 0/2 nodes", std::chrono::seconds(65)};
  EXPECT_EQ(live_text(view, 10), "pool0/1 500/1000 50 %  42/s  ETA 0:12  4 workers  3 "
                                 "wait 1:05 for Unschedulable: 0/2 nodes");
  view.waiting = {1, "Priority", std::chrono::seconds(5)};
  EXPECT_EQ(
    live_text(view, 10),
    "pool0/1 500/1000 50 %  42/s  ETA 0:12  4 workers  1 waits 0:05 for Priority");
}

TEST(Progress, an_unknown_total_shows_no_share_and_no_remaining_time) {
  auto view = half();
  view.total_known = false;
  view.pool.reset();
  EXPECT_EQ(live_text(view, 120), "pool0/1 500/1000+  42/s");
  EXPECT_EQ(live_text({.name = "pool0/2"}, 120),
            "pool0/2 [                    ] 0/0 0 %  0.00/s");
}

TEST(Progress, hours_and_millions_are_formatted) {
  auto view = half();
  view.total = 100'000'000;
  view.per_second = 1'234'567;
  EXPECT_EQ(live_text(view, 10),
            "pool0/1 500/100000000 0 %  1.23M/s  ETA 1:21  4 workers");
  view.per_second = 12'345;
  EXPECT_EQ(live_text(view, 10),
            "pool0/1 500/100000000 0 %  12.35k/s  ETA 2:15:00  4 workers");
}

TEST(Progress, the_final_line_sums_up_the_call) {
  auto view = half();
  EXPECT_EQ(final_text(view), "pool0/1: 500 tasks of 1000 in 12.00 s, 42/s");
  view.done = view.total = 1;
  view.failed = 1;
  EXPECT_EQ(final_text(view), "pool0/1: 1 task in 12.00 s, 0.08/s, 1 failed");
}

TEST(Progress, off_a_terminal_a_line_comes_every_ten_seconds_and_later_every_minute) {
  using namespace std::chrono_literals;
  std::atomic<std::chrono::seconds> time{0s};
  std::atomic<int> looks = 0;
  auto now = [&] {
    auto look = ++looks;
    looks.notify_one();
    return std::chrono::steady_clock::time_point(time.load() +
                                                 std::chrono::nanoseconds(look));
  };
  testing::internal::CaptureStderr(); // Then stderr is no terminal.
  auto progress = std::make_shared<Progress>(std::make_shared<backends::StatusLines>(),
                                             ProgressPace{.now = now, .plain = 1ms});
  auto line = progress->add("pool0/1", {});
  line->expect(100);
  for (auto at : {9s, 10s, 19s, 20s, 59s, 60s, 118s, 119s}) {
    line->ended(true);
    time = at;
    // The start of the second update shows that the first one has ended.
    for (auto seen = looks.load(), enough = seen + 2; seen < enough; seen = looks.load())
      looks.wait(seen);
  }
  progress->close();
  std::istringstream told(testing::internal::GetCapturedStderr());
  std::vector<std::string> counts;
  for (std::string bar, text; std::getline(told, bar, ']') && std::getline(told, text);)
    counts.push_back(text.substr(0, text.find(' ', 1)));
  EXPECT_EQ(counts, (std::vector<std::string>{" 2/100", " 4/100", " 5/100", " 8/100"}));
}

} // namespace
} // namespace fiber::detail
