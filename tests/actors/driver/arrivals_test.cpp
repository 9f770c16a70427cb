// SPDX-License-Identifier: Apache-2.0
// The promise: an expected incarnation arrives once. A peer that comes later with the
// same incarnation, or with one that is not expected, gets no link.

#include "actors/driver/arrivals.hpp"

#include <memory>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "tests/actors/closing_link.hpp"

namespace fiber::actors {
namespace {

struct ArrivalsTest : testing::Test {
  std::shared_ptr<ClosingLink> come(std::uint64_t incarnation) {
    auto link = std::make_shared<ClosingLink>();
    arrivals.arrived(system, incarnation, link);
    return link;
  }

  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  Arrivals arrivals;
};

TEST_F(ArrivalsTest, an_incarnation_is_used_once) {
  arrivals.expect(7, caf::actor_cast<caf::actor>(self));
  const auto first = come(7);
  EXPECT_FALSE(first->closed);
  bool told = false;
  self->receive([&](const LinkArrived& arrived) { told = arrived.link == first; });
  EXPECT_TRUE(told);
  EXPECT_TRUE(come(7)->closed);
}

TEST_F(ArrivalsTest, nobody_comes_who_is_not_awaited) {
  arrivals.expect(7, caf::actor_cast<caf::actor>(self));
  EXPECT_TRUE(come(8)->closed);
  arrivals.forget(7);
  EXPECT_TRUE(come(7)->closed);
}

} // namespace
} // namespace fiber::actors
