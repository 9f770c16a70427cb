// SPDX-License-Identifier: Apache-2.0
// The promise: the crash line of a job is understood, and any other output does no harm.

#include "actors/crash/crash_report.hpp"

#include <csignal>
#include <random>

#include <gtest/gtest.h>

#include "actors/crash/stack_symbols.hpp"
#include "backends/output/crash_line.hpp"
#include "base/code_place.hpp"

using namespace fiber;
using namespace fiber::actors;

namespace {

const std::string whole =
  "signal=11 address=0 sp=7ffc0010 slot=2 seq=41 uncaught= objects=ab01:,:libx%20y.so "
  "frames=0+1f,1+20,-+30 end";

std::string crash_line(const std::string& text) {
  return std::string(backends::crash_mark) + text + "\n";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(CrashReport, a_report_has_all_that_its_line_says) {
  auto report = CrashReport::parse(whole);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->signal, SIGSEGV);
  EXPECT_EQ(report->address, 0u);
  EXPECT_EQ(report->stack_pointer, 0x7ffc0010u);
  EXPECT_EQ(report->slot, 2u);
  EXPECT_EQ(report->seq, 41u);
  ASSERT_EQ(report->frames.size(), 3u);
  EXPECT_EQ(report->frames[0].build, "ab01");
  EXPECT_EQ(report->frames[0].object, "");
  EXPECT_EQ(report->frames[0].offset, 0x1fu);
  EXPECT_EQ(report->frames[1].object, "libx y.so");
  EXPECT_EQ(report->frames[2].build, "");
  EXPECT_EQ(report->frames[2].offset, 0x30u);
}

TEST(CrashReport, the_detail_says_what_is_known_beyond_the_signal) {
  auto detail = [](const std::string& what, const std::string& by) {
    return CrashReport::parse(replaced(whole, what, by)).value().detail();
  };
  EXPECT_EQ(detail("address=0", "address=8"), "null pointer");
  EXPECT_EQ(detail("address=0", "address=7ffc0008"), "stack overflow");
  EXPECT_EQ(detail("address=0", "address=deadbeef"), "address 0xdeadbeef");
  EXPECT_EQ(detail("address=0", "address=-"), "");
  EXPECT_EQ(detail("signal=11 address=0", "signal=7 address=8"), "address 0x8");
  EXPECT_EQ(detail("signal=11 address=0", "signal=8 address=8"), "");
  EXPECT_EQ(detail("uncaught=", "uncaught=std%3a%3abad_alloc"),
            "uncaught std::bad_alloc");
}

TEST(CrashReport, a_malformed_report_is_refused) {
  for (auto& [what, by] : std::vector<std::pair<std::string, std::string>>{
         {" end", ""},
         {" end", " en"},
         {" end", " end "},
         {"signal=11", "signal="},
         {"signal=11", "signal=x"},
         {"signal=11", "signal=99999999999"},
         {"signal=11 ", ""},
         {"address=0", "address=11112222333344445"},
         {"slot=2", "slot=-1"},
         {"slot=2", "slot=2 slot=2"},
         {"uncaught=", "uncaught=%4"},
         {"uncaught=", "uncaught=%zz"},
         {"uncaught=", "uncaught=\x01"},
         {"ab01:", "AB/1:"},
         {"0+1f", "2+1f"},
         {"0+1f", "0+"},
         {"0+1f", "0"},
         {"0+1f", "99999999999999999999+1f"},
         {"-+30", "-+"},
       })
    EXPECT_FALSE(CrashReport::parse(replaced(whole, what, by))) << what << " -> " << by;
}

TEST(CrashReport, a_report_is_bounded) {
  std::string frames = "0+1", objects = "ab:";
  for (std::size_t i = 0; i < max_crash_frames; ++i)
    frames += ",0+1";
  EXPECT_FALSE(CrashReport::parse(replaced(whole, "0+1f", frames)));
  for (std::size_t i = 0; i < max_crash_objects; ++i)
    objects += ",ab:";
  EXPECT_FALSE(CrashReport::parse(replaced(whole, "ab01:", objects)));
}

TEST(CrashReport, garbage_does_no_harm) {
  std::mt19937 random(1);
  for (int i = 0; i < 50'000; ++i) {
    auto text = whole;
    for (auto n = 1 + random() % 4; n > 0; --n)
      switch (random() % 3) {
      case 0:
        text[random() % text.size()] = static_cast<char>(random());
        break;
      case 1:
        text.erase(random() % text.size(), random() % 8);
        break;
      default:
        text.insert(random() % text.size(), text.substr(random() % text.size(), 9));
      }
    if (auto report = CrashReport::parse(text)) {
      EXPECT_LE(report->frames.size(), max_crash_frames);
      report->detail();
    }
    read_last_output(crash_line(text) + text);
  }
}

TEST(LastOutput, the_last_output_is_the_last_whole_report_and_the_lines_around_it) {
  auto first = replaced(whole, "seq=41", "seq=1"), cut = whole.substr(0, 40);
  auto last = read_last_output("a\nb" + crash_line(first) + crash_line(whole) + "c\n" +
                               crash_line(cut) + std::string(backends::crash_mark) + "x");
  ASSERT_TRUE(last.crash);
  EXPECT_EQ(last.crash->seq, 41u);
  EXPECT_EQ(last.lines, "a\nbc");
}

TEST(LastOutput, an_empty_output_has_no_report_and_no_lines) {
  for (auto* text : {"", "\n", " \n\n"}) {
    auto last = read_last_output(text);
    EXPECT_FALSE(last.crash);
    EXPECT_EQ(last.lines, "");
  }
}

TEST(LastLines, the_last_lines_are_whole_and_within_both_limits) {
  EXPECT_EQ(last_lines("a\nb\nc\n", 2, 100), "b\nc");
  EXPECT_EQ(last_lines("a\nb\nc", 9, 100), "a\nb\nc");
  EXPECT_EQ(last_lines("aaa\nbbb\nccc", 9, 8), "bbb\nccc");
  EXPECT_EQ(last_lines("aaa\nbbbbbbbbb", 9, 4), "bbbb");
  EXPECT_EQ(last_lines("\n\na", 9, 9), "\n\na");
  EXPECT_EQ(last_lines("\n\na", 2, 9), "\na");
  EXPECT_EQ(last_lines("a\n\n", 2, 9), "a");
}

[[gnu::noinline]] void a_place_in_this_program() {
  asm volatile("");
}

TEST(CrashStack, known_addresses_get_names_and_unknown_ones_get_places) {
  auto here = reinterpret_cast<std::uintptr_t>(&a_place_in_this_program);
  auto offset = here - loaded_at(build_id()).value();
  CrashStack stack({{build_id(), "", offset},
                    {"00ff", "libgone.so", 0x1234},
                    {"00ff", "", 0x12},
                    {"", "", 0x77}});
  auto text = stack.text();
  EXPECT_NE(text.find("a_place_in_this_program()"), text.npos) << text;
  auto first = text.substr(0, text.find('\n'));
  EXPECT_EQ(text.substr(first.size()), "\nlibgone.so+0x1234\nactors_test+0x12\n0x77");
  EXPECT_EQ(stack.below("why"), "why\n  " + first +
                                  "\n  libgone.so+0x1234\n"
                                  "  actors_test+0x12");
}

} // namespace
