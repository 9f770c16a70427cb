// SPDX-License-Identifier: Apache-2.0
// The promise: whoever writes to stderr, nobody's text gets into another's line, and
// nobody waits for a terminal.

#include "backends/status_lines.hpp"

#include <fcntl.h>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "tests/backends/terminal.hpp"
#include "tests/wire/wire_fixture.hpp"

namespace fiber::backends {
namespace {

using wire::eventually;
using Lines = std::vector<std::string>;

TEST(StatusLines, change_in_place_below_what_others_write) {
  Terminal terminal;
  terminal.look();
  StatusLines status;
  ASSERT_TRUE(status.live());
  StderrWriter writer;
  status.show({"one 1", "two 1"});
  EXPECT_TRUE(eventually([&] { return terminal.lines() == Lines{"one 1", "two 1"}; }));
  EXPECT_EQ(status.write(writer, "[job] hello\n"), 12u);
  status.show({"one 2", "two 2"});
  status.print("three has ended");
  EXPECT_TRUE(eventually([&] {
    return terminal.lines() == Lines{"[job] hello", "three has ended", "one 2", "two 2"};
  }));
  status.show({"two 3"});
  EXPECT_TRUE(eventually([&] {
    auto lines = terminal.lines();
    return lines.size() == 4 && lines[2] == "two 3" && lines[3].empty();
  }));
}

TEST(StatusLines, wait_for_the_end_of_a_line_that_somebody_has_begun) {
  Terminal terminal;
  terminal.look();
  StatusLines status;
  StderrWriter writer;
  status.show({"status"});
  status.write(writer, "[job] hel");
  status.show({"status 2"});
  status.print("printed");
  status.write(writer, "lo\n");
  EXPECT_TRUE(eventually([&] {
    return terminal.lines() == Lines{"[job] hello", "printed", "status 2"};
  }));
}

TEST(StatusLines, are_cut_where_they_would_wrap) {
  Terminal terminal(30);
  terminal.look();
  StatusLines status;
  EXPECT_EQ(status.columns(), 30u);
  status.show({std::string(100, 'x')});
  EXPECT_TRUE(
    eventually([&] { return terminal.lines() == Lines{std::string(29, 'x')}; }));
}

TEST(StatusLines, stand_below_what_is_logged) {
  Terminal terminal;
  terminal.look();
  auto status = std::make_shared<StatusLines>();
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  spdlog::logger logger("test", log_above(status, {sink}));
  logger.set_pattern("%v");
  status->show({"status"});
  logger.warn("careful");
  EXPECT_TRUE(eventually([&] { return terminal.lines() == Lines{"careful", "status"}; }));
}

TEST(StatusLines, keep_nobody_waiting_for_a_terminal_that_stands_still) {
  Terminal terminal;
  StatusLines status;
  StderrWriter writer;
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += "line " + std::to_string(i) + "\n";
  auto written = status.write(writer, text);
  ASSERT_TRUE(written);
  ASSERT_LT(*written, text.size()); // It is full.
  for (int i = 0; i < 1000; ++i)
    status.show({"status " + std::to_string(i)});
  status.print("printed");
  text.erase(0, *written);
  terminal.look();
  EXPECT_TRUE(eventually([&] {
    text.erase(0, status.write(writer, text).value_or(0));
    return text.empty();
  }));
  EXPECT_TRUE(eventually([&] {
    status.show({"status"});
    auto lines = terminal.lines();
    return lines.size() == 20'002 && lines[20'000] == "printed" &&
           lines[20'001] == "status";
  }));
  auto lines = terminal.lines();
  for (std::size_t i = 0; i < 20'000; ++i)
    ASSERT_EQ(lines[i], "line " + std::to_string(i));
}

TEST(StatusLines, are_not_shown_where_they_cannot_change) {
  testing::internal::CaptureStderr();
  {
    StatusLines status;
    EXPECT_FALSE(status.live());
    StderrWriter writer;
    status.show({"status"});
    status.write(writer, "[job] hel");
    status.print("printed");
    status.write(writer, "lo\n");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[job] hello\nprinted\n");
}

} // namespace
} // namespace fiber::backends
