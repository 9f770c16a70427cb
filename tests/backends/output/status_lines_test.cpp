// SPDX-License-Identifier: Apache-2.0
// The promise: texts on stderr never mix within a line, and no writer waits for a
// terminal.

#include "backends/output/status_lines.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include <termios.h>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "backends/output/log_above.hpp"
#include "tests/backends/output/terminal.hpp"
#include "tests/wire/wire_fixture.hpp"

namespace fiber::backends {
namespace {

using Lines = std::vector<std::string>;

TEST(StatusLines, lines_are_redrawn_below_other_output) {
  Terminal terminal;
  terminal.look();
  StatusLines status;
  ASSERT_TRUE(status.live());
  StderrWriter writer;
  status.show({"one 1", "two 1"});
  EXPECT_TRUE(wire::eventually([&] {
    return terminal.lines() == Lines{"one 1", "two 1"};
  }));
  EXPECT_EQ(status.write(writer, "[job] hello\n"), 12u);
  status.show({"one 2", "two 2"});
  status.print("three has ended");
  EXPECT_TRUE(wire::eventually([&] {
    return terminal.lines() == Lines{"[job] hello", "three has ended", "one 2", "two 2"};
  }));
  status.show({"two 3"});
  EXPECT_TRUE(wire::eventually([&] {
    auto lines = terminal.lines();
    return lines.size() == 4 && lines[2] == "two 3" && lines[3].empty();
  }));
}

TEST(StatusLines, lines_wait_for_the_end_of_an_unfinished_line) {
  Terminal terminal;
  terminal.look();
  StatusLines status;
  StderrWriter writer;
  status.show({"status"});
  status.write(writer, "[job] hel");
  status.show({"status 2"});
  status.print("printed");
  status.write(writer, "lo\n");
  EXPECT_TRUE(wire::eventually([&] {
    return terminal.lines() == Lines{"[job] hello", "printed", "status 2"};
  }));
}

TEST(StatusLines, lines_are_cut_where_they_would_wrap) {
  Terminal terminal(30);
  terminal.look();
  StatusLines status;
  EXPECT_EQ(status.columns(), 30u);
  status.show({std::string(100, 'x')});
  EXPECT_TRUE(
    wire::eventually([&] { return terminal.lines() == Lines{std::string(29, 'x')}; }));
}

TEST(StatusLines, lines_stay_below_the_log) {
  Terminal terminal;
  terminal.look();
  auto status = std::make_shared<StatusLines>();
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_pattern("%v");
  spdlog::logger logger("test", write_above(status, {sink}));
  status->show({"status"});
  logger.warn("careful");
  EXPECT_TRUE(wire::eventually([&] {
    return terminal.lines() == Lines{"careful", "status"};
  }));
}

TEST(StatusLines, a_stopped_terminal_blocks_nobody) {
  Terminal terminal;
  StatusLines status;
  StderrWriter writer;
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += "line " + std::to_string(i) + "\n";
  auto written = status.write(writer, text);
  ASSERT_TRUE(written);
  ASSERT_LT(*written, text.size()); // The terminal is full.
  for (int i = 0; i < 1000; ++i)
    status.show({"status " + std::to_string(i)});
  status.print("printed");
  text.erase(0, *written);
  terminal.look();
  EXPECT_TRUE(wire::eventually([&] {
    text.erase(0, status.write(writer, text).value_or(0));
    return text.empty();
  }));
  EXPECT_TRUE(wire::eventually([&] {
    status.show({"status"});
    auto lines = terminal.lines();
    return lines.size() == 20'002 && lines.back() == "status";
  }));
  auto lines = terminal.lines();
  EXPECT_EQ(std::erase(lines, "printed"), 1U); // Printed where there was room.
  for (std::size_t i = 0; i < 20'000; ++i)
    ASSERT_EQ(lines[i], "line " + std::to_string(i));
}

TEST(StatusLines, log_records_keep_their_colours) {
  Terminal terminal;
  terminal.look();
  auto status = std::make_shared<StatusLines>();
  auto sink = print_above(status);
  sink->set_pattern("%^%l%$: %v");
  spdlog::logger logger("test", sink);
  status->show({"status"});
  logger.warn("careful");
  logger.error("");
  EXPECT_TRUE(wire::eventually([&] {
    return terminal.lines() == Lines{"warning: careful", "error: ", "status"};
  }));
  EXPECT_NE(terminal.text().find("\x1b[33m\x1b[1mwarning\x1b[m"), std::string::npos);
}

TEST(StatusLines, a_blocked_logger_blocks_nobody_else) {
  Terminal terminal;
  terminal.look();
  auto status = std::make_shared<StatusLines>();
  spdlog::logger ours("ours", print_above(status));
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_pattern("%v");
  spdlog::logger theirs("theirs", write_above(status, {sink}));
  status->show({"status 1"});
  EXPECT_TRUE(wire::eventually([&] { return terminal.shows("status 1"); }));
  ASSERT_EQ(::tcflow(STDERR_FILENO, TCOOFF), 0); // ^S
  std::atomic<int> waiting{0}, done{0};
  std::vector<std::thread> loggers;
  for (int i = 0; i < 2; ++i)
    loggers.emplace_back([&] {
      ++waiting;
      theirs.warn("theirs");
      ++done;
    });
  EXPECT_TRUE(wire::eventually([&] { return waiting == 2; }));
  std::thread others([&] {
    StderrWriter writer;
    for (int i = 0; i < 100; ++i) {
      status->show({"status 2"});
      status->print("printed");
      status->write(writer, "[job] hello\n");
      ours.warn("ours");
    }
    ++done;
  });
  EXPECT_TRUE(wire::eventually([&] { return done > 0; }));
  EXPECT_EQ(done, 1);
  ASSERT_EQ(::tcflow(STDERR_FILENO, TCOON), 0);
  others.join();
  for (auto& logger : loggers)
    logger.join();
  // It comes without a further call.
  EXPECT_TRUE(wire::eventually([&] {
    auto lines = terminal.lines();
    return std::count(lines.begin(), lines.end(), "theirs") == 2 &&
           std::count(lines.begin(), lines.end(), "printed") == 100 &&
           lines.back() == "status 2";
  }));
}

TEST(StatusLines, the_end_writes_what_the_terminal_had_not_accepted) {
  Terminal terminal;
  auto status = std::make_unique<StatusLines>();
  StderrWriter writer;
  while (status->write(writer, std::string(79, 'x') + "\n") == 80u) {
  }
  auto half = status->write(writer, "a line without an end").value_or(0);
  EXPECT_LT(half, 21u);
  status->print("the last line");
  std::thread end([&] { status = nullptr; });
  terminal.look();
  end.join();
  EXPECT_TRUE(wire::eventually(
    [&] { return terminal.lines().back() == "" && terminal.shows("the last line"); }));
}

TEST(StatusLines, lines_do_not_wait_for_a_line_that_nobody_ends) {
  Terminal terminal;
  terminal.look();
  StatusLines status;
  StderrWriter writer;
  status.write(writer, "[job] hel");
  status.print("printed");
  status.show({"status"});
  status.end_line();
  EXPECT_TRUE(wire::eventually([&] {
    return terminal.lines() == Lines{"[job] hel", "printed", "status"};
  }));
}

TEST(StatusLines, at_most_a_mebibyte_is_kept_unread) {
  Terminal terminal;
  StatusLines status;
  const std::string line(1023, '.');
  for (int i = 0; i < 4096; ++i)
    status.print(line);
  terminal.look();
  EXPECT_TRUE(
    wire::eventually([&] { return terminal.shows(" lines were left out here)"); }));
  EXPECT_LT(terminal.lines().size(), 2000u); // The kernel buffers some too.
}

TEST(StatusLines, lines_are_not_shown_where_they_cannot_be_redrawn) {
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
