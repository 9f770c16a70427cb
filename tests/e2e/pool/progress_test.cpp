// SPDX-License-Identifier: Apache-2.0
// Who asks for progress sees it, and nothing of it in what workers write.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include <fiber/pool.hpp>

#include "tests/backends/output/terminal.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/e2e/support/notes.hpp"

namespace fiber::e2e {
namespace {

using backends::Terminal;

std::size_t tell(std::size_t i) {
  std::fprintf(stderr, "told %zu\n", i);
  if (i % 50 == 7)
    throw std::runtime_error("on purpose");
  return i;
}

class ProgressTest : public SessionTest {
protected:
  void open_forwarding() {
    Config config;
    config.forward_output = true;
    open(config);
  }
  /// How many lines are "[JOB] told N", for each N of 200 once.
  static std::size_t told(const std::vector<std::string>& lines) {
    std::set<std::string> seen;
    for (auto& line : lines)
      if (auto at = line.find("] told "); at != std::string::npos && line[0] == '[')
        seen.insert(line.substr(at + 7));
    return seen.size();
  }
};

TEST_F(ProgressTest, is_one_line_for_each_map_on_a_terminal) {
  Terminal terminal(120);
  terminal.look();
  open_forwarding();
  {
    Pool pool(2);
    auto wait = [](std::size_t i) {
      await_note("go");
      return i;
    };
    auto first = pool.map_async(wait, indices(10), {.progress = true});
    auto second = pool.map_async(wait, indices(5), {.progress = true});
    EXPECT_TRUE(wait_until([&] {
      return terminal.shows("] 0/10 0 %") && terminal.shows("] 0/5 0 %") &&
             terminal.shows("2 workers");
    }));
    note("go", "");
    EXPECT_EQ(first.get(), indices(10));
    EXPECT_EQ(second.get(), indices(5));
    auto outcomes = pool.map_async(tell, indices(200), {.progress = true}).outcomes();
    EXPECT_EQ(outcomes.size(), 200u);
    EXPECT_TRUE(wait_until([&] { return told(terminal.lines()) == 200; }));
  }
  close();
  terminal.close();
  auto lines = terminal.lines();
  EXPECT_EQ(told(lines), 200u);
  std::size_t ends = 0;
  for (auto& line : lines) {
    EXPECT_EQ(line.find("ETA"), line.npos) << line; // Nothing live is left.
    ends += line.rfind("pool", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(ends, 3u);
  EXPECT_TRUE(terminal.shows("10 tasks in "));
  EXPECT_TRUE(terminal.shows("5 tasks in "));
  EXPECT_TRUE(terminal.shows(", 4 failed"));
}

TEST_F(ProgressTest, is_a_plain_line_elsewhere_and_none_for_who_did_not_ask) {
  testing::internal::CaptureStderr();
  open_forwarding();
  {
    Pool pool(2);
    EXPECT_EQ(pool.map(f, indices(100), {.progress = true}), undisturbed(100));
    EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100));
    for (auto i = 0; auto&& result : pool.imap(f, indices(100), {.progress = true})) {
      EXPECT_EQ(result, f(static_cast<std::size_t>(i)));
      if (++i == 10)
        break;
    }
  }
  close();
  auto text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find('\x1b'), text.npos) << text;
  EXPECT_NE(text.find(": 100 tasks in "), text.npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST_F(ProgressTest, may_outlive_its_session) {
  std::optional<MapResult<std::size_t>> left;
  open_forwarding();
  {
    Pool pool(2);
    left = pool.map_async(tell, indices(1000), {.progress = true});
  }
  close();
  EXPECT_TRUE(left->ready());
}

} // namespace
} // namespace fiber::e2e
