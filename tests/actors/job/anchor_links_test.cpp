// SPDX-License-Identifier: Apache-2.0
// The promise: a driver holds the links of its anchors, but no more links than engines
// start anchors, even if somebody else has an anchor's key.

#include "actors/job/anchor.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backends/anchor_linger.hpp"
#include "tests/actors/closing_link.hpp"

namespace fiber::actors {
namespace {

TEST(AnchorLinks, are_no_more_than_engines_start) {
  AnchorLinks links;
  std::vector<std::shared_ptr<ClosingLink>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(std::make_shared<ClosingLink>());
    links.add(all.back());
  }
  std::size_t open = 0;
  for (const auto& link : all)
    open += link->closed ? 0 : 1;
  EXPECT_EQ(open, 8u);
  EXPECT_FALSE(all.front()->closed);
}

TEST(AnchorLinks, make_room_when_one_has_ended) {
  AnchorLinks links;
  for (int i = 0; i < 100; ++i) {
    const auto link = std::make_shared<ClosingLink>();
    links.add(link);
    EXPECT_FALSE(link->closed) << i;
    link->handler->on_closed({});
  }
}

/// Returns after how long an anchor ends that does not reach its driver.
std::chrono::milliseconds life_of_anchor() {
  auto begin = std::chrono::steady_clock::now();
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(run_anchor({}, {}), testing::ExitedWithCode(0), "");
  return std::chrono::duration_cast<std::chrono::milliseconds>(
    std::chrono::steady_clock::now() - begin);
}

TEST(AnchorDeathTest, without_its_driver_stays_for_as_long_as_the_backend_asks) {
  ::setenv(backends::anchor_linger, "2", 1);
  EXPECT_GE(life_of_anchor(), std::chrono::seconds(2));
  ::unsetenv(backends::anchor_linger);
  life_of_anchor();
}

} // namespace
} // namespace fiber::actors
