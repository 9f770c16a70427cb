// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/network/network_fixture.hpp"

#include <algorithm>

#include <fiber/this_task.hpp>

namespace fiber::e2e {

std::size_t wait_5(std::size_t i) {
  note("runs", std::to_string(i));
  if (i == 5 && this_task::attempt() == 1) {
    note("ports", std::to_string(port_to_driver()));
    note_and_wait("victims");
  }
  return f(i);
}

void Network::SetUp() {
  place_ = place_of_workers();
  if (!place_.missing.empty())
    GTEST_SKIP() << "SKIPPED: " << place_.missing;
  try {
    cable_.emplace(place_.near_side);
  } catch (const NoNamespace& error) {
    GTEST_SKIP() << "no network of its own: " << error.what();
  }
}

void Network::open_over_cable(std::chrono::milliseconds heartbeat_timeout,
                              std::chrono::milliseconds lease) {
  auto config = place_.config;
  config.heartbeat_timeout = heartbeat_timeout;
  config.lease = lease;
  config.link = "tls";
  config.advertise_address = Cable::driver_address;
  open(config);
}

Network::Victim Network::await_victim() {
  auto pid = static_cast<pid_t>(noted("victims"));
  return {pid, static_cast<std::uint16_t>(noted("ports"))};
}

void Network::expect_lost_once(Pool& pool, MapResult<std::size_t>& results,
                               const Victim& victim) {
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_EQ(runs("runs", 60)[5], 2u);
  EXPECT_GT(cable().counts().cut, 0u);
  auto stats = pool.stats();
  EXPECT_EQ(stats.workers_lost, 1u);
  EXPECT_EQ(stats.done, 60u);
  EXPECT_EQ(stats.failed, 0u);
  EXPECT_GE(stats.retries, 1u);
  EXPECT_TRUE(wait_until([&] { return !lives(victim.pid); }));
  expect_works(pool, 2); // Its cut lasts; the new one has a connection of its own.
  EXPECT_EQ(pool.stats().workers_lost, 1u);
}

void Network::expect_nothing_lost(Pool& pool, std::size_t tasks) {
  auto counts = runs("runs", tasks);
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 1u),
            static_cast<std::ptrdiff_t>(tasks));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  EXPECT_EQ(pool.stats().retries, 0u);
  EXPECT_EQ(pool.stats().failed, 0u);
  expect_works(pool, 2);
}

} // namespace fiber::e2e
