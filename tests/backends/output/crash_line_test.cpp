// SPDX-License-Identifier: Apache-2.0
// The promise: exactly the crash lines are removed, however the output is divided.

#include "backends/output/crash_line.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace fiber::backends {
namespace {

std::string filtered(const std::string& text, std::size_t piece) {
  std::string result;
  auto add = [&result](std::string_view part) { result += part; };
  CrashLineFilter filter;
  for (std::size_t at = 0; at < text.size(); at += piece)
    filter.pass(std::string_view(text).substr(at, piece), add);
  filter.end(add);
  return result;
}

void expect_filtered(const std::string& text, const std::string& result) {
  for (std::size_t piece = 1; piece <= text.size(); ++piece)
    ASSERT_EQ(filtered(text, piece), result) << "in pieces of " << piece;
}

const std::string mark(crash_mark);

TEST(CrashLineFilter, whole_lines_and_ends_of_lines_are_removed) {
  expect_filtered("a\n" + mark + "signal=6 end\nb\n", "a\nb\n");
  expect_filtered("half" + mark + "x\n" + mark + "y\n of it\n", "half of it\n");
}

TEST(CrashLineFilter, text_that_only_begins_like_a_crash_line_passes) {
  expect_filtered("\x1e", "\x1e");
  expect_filtered("\x1e\x1e"
                  "fiber\x1e"
                  "fiber-crash\n",
                  "\x1e\x1e"
                  "fiber\x1e"
                  "fiber-crash\n");
  expect_filtered(mark.substr(0, 5), mark.substr(0, 5));
  expect_filtered("\x1e" + mark + "x\na", "\x1e"
                                          "a");
}

TEST(CrashLineFilter, an_unfinished_crash_line_is_removed) {
  expect_filtered("a" + mark + "x", "a");
}

TEST(CrashLineFilter, nothing_is_removed_beyond_the_longest_line) {
  auto text = mark + std::string(longest_crash_line - mark.size(), 'x') + "y\n";
  for (std::size_t piece : {1UL, 7UL, 4096UL, 9000UL})
    EXPECT_EQ(filtered(text, piece), "y\n");
}

} // namespace
} // namespace fiber::backends
