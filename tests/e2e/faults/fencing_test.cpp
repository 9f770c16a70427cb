// SPDX-License-Identifier: Apache-2.0
// A worker that was declared dead and is not: nobody can end it, it comes back and
// answers.
#include <csignal>

#include <fiber/this_task.hpp>

#include "tests/e2e/support/fixture.hpp"
#include "tests/e2e/support/pool_world.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

std::size_t wait_5_ms(std::size_t i) {
  note("runs", std::to_string(i));
  if (i == 5 && this_task::attempt() == 1)
    note_and_wait("victims");
  return f(i);
}

TEST(DeclaredDead, and_back_its_results_are_refused_as_late) {
  Scratch scratch;
  PoolWorld world(1s);
  auto ledger = world.submit(wait_5_ms, 40);
  auto victim = static_cast<pid_t>(noted("victims"));
  kill(victim, SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return ledger->results().size() == 40; }));
  EXPECT_EQ(runs("runs", 40)[5], 2u);
  EXPECT_EQ(world.stats().workers_lost, 1u);
  EXPECT_EQ(world.stats().late, 0u);
  EXPECT_TRUE(wait_until([&] { return world.backend->withheld() == 1; }));
  ASSERT_TRUE(is_stopped(victim)); // Nobody has ended it.

  note("go", "");
  kill(victim, SIGCONT);
  EXPECT_TRUE(wait_until([&] { return world.stats().late >= 1; }));
  EXPECT_TRUE(lives(victim));
  EXPECT_EQ(ledger->results(), each_once(40));
  auto again = world.submit(f, 40);
  ASSERT_TRUE(wait_until([&] { return again->results().size() == 40; }));
  EXPECT_EQ(again->results(), each_once(40));

  world.backend->release();
  EXPECT_TRUE(wait_until([&] { return !lives(victim); }));
  EXPECT_EQ(world.stats().done, 80u);
  EXPECT_EQ(world.stats().failed, 0u);
}

} // namespace
} // namespace fiber::e2e
