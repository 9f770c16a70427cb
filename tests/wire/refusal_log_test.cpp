// SPDX-License-Identifier: Apache-2.0
// The promise: a flood of strangers does not flood the log, and no stranger is left out.

#include "wire/refusal_log.hpp"

#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "base/log.hpp"

namespace fiber::wire {
namespace {

struct RefusalLogTest : testing::Test {
  RefusalLogTest() {
    log().sinks() = {std::make_shared<spdlog::sinks::ostream_sink_mt>(text)};
  }
  ~RefusalLogTest() override { log().sinks() = sinks; }

  std::ptrdiff_t lines() const {
    const auto all = text.str();
    return std::count(all.begin(), all.end(), '\n');
  }

  const std::vector<spdlog::sink_ptr> sinks = log().sinks();
  std::ostringstream text;
  std::optional<RefusalLog> refusals = std::make_optional<RefusalLog>();
  const RefusalLog::Clock::time_point begin = RefusalLog::Clock::now();
};

TEST_F(RefusalLogTest, the_first_refusals_are_logged_in_full) {
  refusals->refused("10.0.0.1:5", "shows no certificate", begin);
  EXPECT_NE(text.str().find("refused 10.0.0.1:5: shows no certificate"),
            std::string::npos);
}

TEST_F(RefusalLogTest, a_flood_is_summed_up_once_a_period) {
  for (int i = 0; i < 1000; ++i)
    refusals->refused("10.0.0.1:5", "is silent", begin);
  EXPECT_EQ(lines(), static_cast<int>(RefusalLog::lines_in_full));
  refusals->refused("10.0.0.2:6", "is new", begin + RefusalLog::period);
  EXPECT_NE(text.str().find("refused 991 more connections within 60 s, the last one "
                            "10.0.0.1:5: is silent"),
            std::string::npos)
    << text.str();
  EXPECT_NE(text.str().find("refused 10.0.0.2:6: is new"), std::string::npos);
}

TEST_F(RefusalLogTest, the_end_sums_up_too) {
  for (int i = 0; i < 10; ++i)
    refusals->refused("10.0.0.1:5", "is silent", begin);
  refusals.reset();
  EXPECT_NE(text.str().find("refused 1 more connections"), std::string::npos);
}

} // namespace
} // namespace fiber::wire
