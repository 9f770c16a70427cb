// SPDX-License-Identifier: Apache-2.0
// Promise: what sessions and their jobs print is shown as text, aligned, and commands no
// terminal.
#include <gtest/gtest.h>

#include "cli/printable.hpp"
#include "cli/session_text.hpp"
#include "cli/table.hpp"
#include "cli/top_view.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

TEST(Printable, control_characters_are_written_out) {
  EXPECT_EQ(printable("a\x1b[31mb\x07\x7f"), "a\\x1b[31mb\\x07\\x7f");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\x09c\\r");
  EXPECT_EQ(printable("a\nb\tc\r", true), "a\nb\tc\\r");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m"); // The other form of ESC [.
  EXPECT_EQ(printable("\xc3\xbc"), "\xc3\xbc");
}

TEST(Printable, widths_count_characters) {
  EXPECT_EQ(width_of("\xc3\xbc"
                     "b"),
            2U);
  EXPECT_EQ(cut("\xc3\xbc"
                "bc",
                2),
            "\xc3\xbc"
            "b");
  EXPECT_EQ(fit("\xc3\xbc", 3), "\xc3\xbc  ");
}

TEST(Printable, numbers_are_short) {
  EXPECT_EQ(short_count(7), "7");
  EXPECT_EQ(short_count(9999), "9999");
  EXPECT_EQ(short_count(12345), "12.3k");
  EXPECT_EQ(short_count(1234567), "1.23M");
  EXPECT_EQ(short_time(0.0123), "12 ms");
  EXPECT_EQ(short_time(0.000042), "42 us");
  EXPECT_EQ(clock_time(75), "1:15");
  EXPECT_EQ(clock_time(3725), "1:02:05");
  EXPECT_EQ(clock_time(90000), "1d 01:00:00");
}

TEST(Table, columns_are_aligned) {
  Table table({"NAME", ">DONE", "WHY"});
  table.add({"a", "5", "x"});
  table.add({"longer", "12345"});
  EXPECT_EQ(table.lines(),
            (Lines{"NAME     DONE  WHY", "a           5  x", "longer  12345"}));
}

json snapshot(int workers) {
  auto jobs = json::array();
  for (int i = 0; i < workers; ++i)
    jobs.push_back({{"name", "pool1.w" + std::to_string(i)},
                    {"job", "pool1.w" + std::to_string(i) + "-" + std::to_string(i + 1)},
                    {"kind", "pool"},
                    {"state", "up"},
                    {"tasks", i},
                    {"restarts", i == 2 ? 7 : 0}});
  json call{{"call", 1},
            {"function", "f\x1b"},
            {"done", 50},
            {"total", 100},
            {"total_known", true}};
  json pool{{"name", "pool1"}, {"tasks_per_second", 10}, {"calls", json::array({call})}};
  json failure{{"who", "pool1.w0-1"}, {"why", "line 1\nline 2"}};
  return {{"session", {{"name", "train"}}},
          {"jobs", jobs},
          {"pools", json::array({pool})},
          {"failures", json::array({failure})}};
}

std::string all(const std::vector<Row>& rows) {
  std::string text;
  for (auto& row : rows)
    text += row.text + "\n";
  return text;
}

TEST(SessionText, a_call_has_a_bar_its_share_and_the_time_that_is_left) {
  auto lines = pool_lines(snapshot(1), 100);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[2],
            "  call 1 f\\x1b  [############            ] 50/100 50 %  ETA 0:05");
  EXPECT_EQ(pool_lines(snapshot(1), 40)[2], "  call 1 f\\x1b  50/100 50 %  ETA 0:05");
}

TEST(SessionText, prefetched_tasks_are_shown_where_there_is_room) {
  auto now = snapshot(1);
  now["pools"][0].update(
    {{"prefetched", 4}, {"running", 2}, {"retries", 3}, {"workers_lost", 1}});
  constexpr std::size_t wide = 100, narrow = 80;
  EXPECT_EQ(
    pool_lines(now, wide)[0],
    "POOL   WORKERS  QUEUED  PREFETCHED  RUNNING  DONE  FAILED  RETRIES  LOST  P50"
    "  P99  TASKS/S");
  EXPECT_EQ(
    pool_lines(now, wide)[1],
    "pool1      0/0       0           4        2     0       0        3     1    0"
    "    0       10");
  EXPECT_EQ(pool_lines(now, narrow)[0],
            "POOL   WORKERS  QUEUED  RUNNING  DONE  FAILED  RETRIES  LOST  P50  P99"
            "  TASKS/S");
  EXPECT_EQ(pool_lines(now, narrow)[1],
            "pool1      0/0       0        2     0       0        3     1    0    0"
            "       10");
}

TEST(SessionText, jobs_are_in_the_order_of_their_numbers) {
  auto jobs = sorted_jobs(snapshot(12), JobOrder::name);
  EXPECT_EQ(jobs[2]["name"], "pool1.w2");
  EXPECT_EQ(jobs[11]["name"], "pool1.w11");
  EXPECT_EQ(sorted_jobs(snapshot(12), JobOrder::tasks)[0]["name"], "pool1.w11");
  EXPECT_EQ(sorted_jobs(snapshot(12), JobOrder::restarts)[0]["name"], "pool1.w2");
}

TEST(SessionText, a_job_that_waits_has_the_engines_words) {
  auto now = snapshot(2);
  EXPECT_EQ(job_lines(sorted_jobs(now, JobOrder::name))[0].find("WHY"),
            std::string::npos);
  now["jobs"][1]["waits_for"] = "Unschedulable:\x1b 0/2 nodes";
  now["jobs"][1]["waits_seconds"] = 65;
  auto lines = job_lines(sorted_jobs(now, JobOrder::name));
  EXPECT_TRUE(lines[0].ends_with("ID  WHY IT WAITS")) << lines[0];
  EXPECT_TRUE(lines[2].ends_with("  Unschedulable:\\x1b 0/2 nodes (for 1:05)"))
    << lines[2];
}

TEST(SessionText, the_jobs_that_wait_are_summed_up) {
  auto now = snapshot(3);
  EXPECT_EQ(wait_line(now), "");
  now["jobs"][1]["waits_for"] = "Priority";
  now["jobs"][1]["waits_seconds"] = 5;
  EXPECT_EQ(wait_line(now), "1 job waits: Priority (for 0:05)");
  now["jobs"][2]["waits_for"] = "Resources";
  now["jobs"][2]["waits_seconds"] = 65;
  EXPECT_EQ(wait_line(now), "2 jobs wait: Resources (for 1:05)");
  EXPECT_EQ(wait_line(json::object()), "");
}

TEST(SessionText, an_empty_snapshot_is_no_error) {
  EXPECT_FALSE(session_lines(json::object(), 80, JobOrder::name).empty());
  EXPECT_FALSE(session_lines({{"pools", 7}, {"jobs", 1}}, 80, JobOrder::name).empty());
}

TEST(TopView, fits_into_its_screen_and_keeps_the_selection_in_sight) {
  TopView view;
  view.set(snapshot(500));
  for (int i = 0; i < 300; ++i)
    view.press(Screen::down);
  auto rows = view.rows({30, 80});
  EXPECT_LE(rows.size(), 30U);
  std::string selected;
  for (auto& row : rows)
    if (row.style == Row::Style::selected)
      selected = row.text;
  EXPECT_EQ(selected.substr(0, 14), "pool1.w300-301") << all(rows);
  EXPECT_NE(all(rows).find("line 1\\nline 2"), std::string::npos) << all(rows);
}

TEST(TopView, the_selection_stays_with_its_job) {
  TopView view;
  view.set(snapshot(5));
  view.press(Screen::down);
  view.press('s'); // By tasks: the first is now w4.
  view.press(Screen::down);
  view.set(snapshot(6));
  view.press('\n');
  EXPECT_EQ(view.open_job(), "pool1.w3-4");
  view.add_log("hello\x1b\n\tworld\n");
  EXPECT_NE(all(view.rows({10, 80})).find("hello\\x1b\n    world"), std::string::npos);
  EXPECT_TRUE(view.press('q')); // Back to the session.
  EXPECT_FALSE(view.open_job());
  EXPECT_FALSE(view.press('q'));
}

TEST(TopView, the_selected_job_says_on_a_line_of_its_own_why_it_waits) {
  auto now = snapshot(2);
  now["jobs"][1]["waits_for"] = "Unschedulable\n0/2 nodes";
  TopView view;
  view.set(now);
  const std::string words = "WHY THE SELECTED JOB WAITS\nUnschedulable\\n0/2 nodes\n";
  EXPECT_EQ(all(view.rows({30, 80})).find(words), std::string::npos);
  view.press(Screen::down);
  EXPECT_NE(all(view.rows({30, 80})).find(words), std::string::npos)
    << all(view.rows({30, 80}));
}

TEST(TopView, small_screens_and_empty_sessions_are_no_error) {
  TopView view;
  EXPECT_LE(view.rows({1, 1}).size(), 1U);
  view.press(Screen::down);
  view.press('\n');
  view.set(snapshot(3));
  EXPECT_LE(view.rows({2, 10}).size(), 2U);
}

} // namespace
} // namespace fiber::cli
