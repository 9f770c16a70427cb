// SPDX-License-Identifier: Apache-2.0
// The promise: what another process says is shown by a terminal and orders it nothing,
// and no part of a log record looks like another one.
#include "base/terminal_text.hpp"

#include <gtest/gtest.h>

namespace fiber {
namespace {

TEST(TerminalText, words_tabs_and_unicode_pass) {
  for (std::string text :
       {"", "plain ~ words", "a\tb", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d"}) {
    EXPECT_EQ(for_terminal(text), text);
    EXPECT_FALSE(has_orders(text)) << text;
  }
}

TEST(TerminalText, colours_pass_and_end_with_the_text) {
  EXPECT_EQ(for_terminal("\x1b[1;31mred"), "\x1b[1;31mred\x1b[m");
  EXPECT_EQ(for_terminal("\x1b[38:5:1mred\x1b[0m."), "\x1b[38:5:1mred\x1b[0m.\x1b[m");
  EXPECT_TRUE(has_orders("\x1b[8mhidden"));
}

TEST(TerminalText, lines_or_nothing_but_characters_pass_if_that_is_asked_for) {
  std::string_view text = "a\tb\n\x1b[31m\xc3\xa4\r";
  EXPECT_EQ(for_terminal(text, Passing::lines), "a\tb\n\\x1b[31m\xc3\xa4\\r");
  EXPECT_EQ(for_terminal(text, Passing::nothing), "a\\x09b\\n\\x1b[31m\xc3\xa4\\r");
}

TEST(TerminalText, orders_become_visible) {
  EXPECT_EQ(for_terminal("\x1b]52;c;ZXZpbA==\a"), "\\x1b]52;c;ZXZpbA==\\x07");
  EXPECT_EQ(for_terminal("\x1b]0;title\x1b\\"), "\\x1b]0;title\\x1b\\");
  EXPECT_EQ(for_terminal("\x1b[2J\x1b[1A"), "\\x1b[2J\\x1b[1A");
  EXPECT_EQ(for_terminal("\x1b[1;1H"), "\\x1b[1;1H");
  EXPECT_EQ(for_terminal("\x1b[?25lm"), "\\x1b[?25lm");
  EXPECT_EQ(for_terminal("\r[driver] all is well"), "\\r[driver] all is well");
  EXPECT_EQ(for_terminal("a\nb\x7f\b"), "a\\nb\\x7f\\x08");
  EXPECT_EQ(for_terminal("\x1b"), "\\x1b");
  EXPECT_EQ(for_terminal("\x1b[" + std::string(100, '1') + "m").substr(0, 6), "\\x1b[1");
}

TEST(TerminalText, control_characters_of_eight_bits_become_visible) {
  EXPECT_EQ(for_terminal("\x9b"
                         "2J"),
            "\\x9b2J"); // CSI in Latin-1,
  EXPECT_EQ(for_terminal("\xc2\x9b"
                         "2J"),
            "\\xc2\\x9b2J");                         // and in UTF-8.
  EXPECT_EQ(for_terminal("\xc0\x9b"), "\\xc0\\x9b"); // Too long a form.
  EXPECT_EQ(for_terminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(for_terminal("\xe2\x82"), "\\xe2\\x82"); // Cut off.
}

TEST(TerminalText, later_lines_of_a_record_are_indented) {
  EXPECT_EQ(for_log("one\n[12:00:00.000] [fiber] error: forged\n"),
            "one\n    [12:00:00.000] [fiber] error: forged");
  EXPECT_EQ(for_log("\x1b[31mone\ntwo"), "\x1b[31mone\x1b[m\n    two");
  EXPECT_EQ(for_log("one\r\ntwo"), "one\\r\n    two");
  EXPECT_EQ(for_log(for_log("one\ntwo\r")), "one\n    two\\r");
}

} // namespace
} // namespace fiber
