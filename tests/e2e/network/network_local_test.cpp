// SPDX-License-Identifier: Apache-2.0
// Workers behind a broken network that are processes of this machine. The tests here look
// at what only such workers show.
#include <csignal>

#include "tests/e2e/network/network_fixture.hpp"
#include "tests/e2e/support/pool_world.hpp"

namespace fiber::e2e {

using namespace std::chrono_literals;
using Cut = Cable::Cut;

Place place_of_workers() {
  return {};
}

namespace {

// Nobody can end the worker meanwhile, and what it said waits in the kernel.
TEST_F(Network, that_heals_after_a_worker_was_declared_dead_brings_nothing_twice) {
  PoolWorld world(2s, Cable::driver_address);
  auto ledger = world.submit(wait_5, 60);
  auto victim = await_victim();
  cable().cut(Cut::both, {victim.port});
  ASSERT_TRUE(wait_until([&] { return ledger->results().size() == 60; }));
  EXPECT_EQ(world.stats().workers_lost, 1u);
  EXPECT_TRUE(wait_until([&] { return world.backend->withheld() == 1; }));
  note("go", "");
  EXPECT_EQ(world.stats().late, 0u);
  EXPECT_GT(cable().counts().cut, 0u);
  EXPECT_TRUE(lives(victim.pid));

  cable().mend();
  EXPECT_TRUE(wait_until([&] { return world.stats().late >= 1; }));
  EXPECT_EQ(ledger->results(), each_once(60));
  EXPECT_EQ(runs("runs", 60)[5], 2u);
  auto again = world.submit(f, 60);
  ASSERT_TRUE(wait_until([&] { return again->results().size() == 60; }));
  EXPECT_EQ(again->results(), each_once(60));
  EXPECT_EQ(world.stats().workers_lost, 1u);
  EXPECT_EQ(world.stats().failed, 0u);
}

TEST_F(Network, of_a_machine_without_power_is_silent) {
  open_over_cable();
  Pool pool(2);
  auto results = pool.map_async(wait_5, indices(60));
  auto victim = await_victim();
  // Nobody tells the driver: no packet of the end gets through, and the process that
  // would report it stands still.
  auto reporter = zygote(mark());
  ASSERT_GT(reporter, 0);
  kill(reporter, SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return is_stopped(reporter); }));
  cable().cut(Cut::both, {victim.port});
  kill(victim.pid, SIGKILL);
  EXPECT_TRUE(await_lost(pool, 1));
  EXPECT_TRUE(is_stopped(reporter));
  EXPECT_EQ(results.get(), undisturbed(60));
  kill(reporter, SIGCONT);
  expect_lost_once(pool, results, victim);
}

} // namespace
} // namespace fiber::e2e
