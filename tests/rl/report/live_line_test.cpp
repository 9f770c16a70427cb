// SPDX-License-Identifier: Apache-2.0
// On a terminal one line is rewritten and fits it; elsewhere some lines are printed, and
// always the last one.

#include "fiber/rl/live_line.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

// What a LiveLine writes to a file.
template <class Function>
std::string plain(std::size_t every, Function use) {
  std::FILE* file = std::tmpfile();
  {
    LiveLine line(file, every);
    use(line);
  }
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;)
    text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

// What it writes to a terminal of this width.
template <class Function>
std::string on_terminal(unsigned short width, Function use) {
  int master = -1, slave = -1;
  const winsize size = {.ws_row = 24, .ws_col = width, .ws_xpixel = 0, .ws_ypixel = 0};
  if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0)
    throw std::runtime_error("no pseudoterminal");
  std::FILE* file = ::fdopen(slave, "w");
  {
    LiveLine line(file);
    use(line);
  }
  std::fclose(file);
  std::string text;
  for (char c; ::read(master, &c, 1) == 1;) // Fails when the terminal has no more.
    text += c;
  ::close(master);
  return text;
}

TEST(LiveLineTest, describes_a_training) {
  EXPECT_EQ(describe({.step = 40960,
                      .steps = 500000,
                      .steps_per_second = 12345.4,
                      .mean_return = 321.44,
                      .policy_loss = -0.01234,
                      .value_loss = 45.64,
                      .learner_idle = 0.124}),
            "40,960/500,000  12,345 steps/s  return 321.4  policy -0.0123  value 45.6  "
            "idle 12 %");
  EXPECT_EQ(describe({.step = 7}), "7  - steps/s  return -  policy -  value -  idle -");
}

TEST(LiveLineTest, prints_some_lines_elsewhere_and_always_the_last) {
  auto show = [](int count) {
    return [count](LiveLine& line) {
      for (int i = 0; i < count; ++i)
        line.show(std::to_string(i));
    };
  };
  EXPECT_EQ(plain(3, show(6)), "0\n3\n5\n");
  EXPECT_EQ(plain(3, show(4)), "0\n3\n");
  EXPECT_EQ(plain(1, show(2)), "0\n1\n");
}

TEST(LiveLineTest, what_is_said_follows_the_last_line) {
  EXPECT_EQ(plain(10,
                  [](LiveLine& line) {
                    line.show("a");
                    line.show("b");
                    line.say("done");
                  }),
            "a\nb\ndone\n");
}

TEST(LiveLineTest, rewrites_its_line_on_a_terminal) {
  EXPECT_EQ(on_terminal(80,
                        [](LiveLine& line) {
                          line.show("a");
                          line.show("b");
                          line.say("done");
                          line.show("c");
                        }),
            "\r\033[Ka\r\033[Kb\r\ndone\r\n\r\033[Kc\r\n");
}

TEST(LiveLineTest, cuts_what_a_terminal_has_no_room_for) {
  EXPECT_EQ(on_terminal(10, [](LiveLine& line) { line.show("0123456789abc"); }),
            "\r\033[K012345678\r\n");
}

} // namespace
} // namespace fiber::rl
