// SPDX-License-Identifier: Apache-2.0
// The promise: a pool that scales has workers when there is work, and none that nobody
// needs; no task ever notices.
#include <chrono>
#include <thread>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

std::size_t for_a_while(std::size_t i) {
  std::this_thread::sleep_for(50ms);
  return f(i);
}
std::size_t until_told(std::size_t i) {
  await_note("go");
  return f(i);
}

class Autoscale : public EveryMode {
protected:
  static bool await_workers(const Pool& pool, std::size_t n) {
    return wait_until([&] { return pool.stats().workers == n; });
  }
  /// Nothing that was done to the pool has cost a task anything.
  static void expect_no_loss(const Pool& pool) {
    auto stats = pool.stats();
    EXPECT_EQ(stats.retries, 0u);
    EXPECT_EQ(stats.workers_lost, 0u);
    EXPECT_EQ(stats.failed, 0u);
  }
};

TEST_P(Autoscale, grows_with_the_queue_and_shrinks_when_idle) {
  Pool pool(PoolOptions{.max_retries = 0});
  pool.autoscale(0, 8, 200ms);
  pool.start_workers();
  EXPECT_EQ(pool.stats().workers, 0u);
  for (int burst = 0; burst < 3; ++burst) {
    auto results = pool.map_async(for_a_while, indices(200));
    EXPECT_TRUE(await_workers(pool, 8));
    EXPECT_EQ(results.get(), undisturbed(200));
    EXPECT_TRUE(await_workers(pool, 0));
  }
  expect_no_loss(pool);
}

TEST_P(Autoscale, keeps_what_it_must) {
  Pool pool;
  pool.autoscale(2, 4, 50ms);
  EXPECT_TRUE(pool.wait_until_workers_up(deadline));
  EXPECT_EQ(pool.stats().workers, 2u);
  EXPECT_EQ(pool.map(for_a_while, indices(100)), undisturbed(100));
  EXPECT_TRUE(await_workers(pool, 2));
  expect_no_loss(pool);
}

TEST_P(Autoscale, leaves_a_worker_that_is_busy) {
  Pool pool(PoolOptions{.max_retries = 0});
  pool.autoscale(0, 4, 50ms);
  auto longer = pool.apply_async(until_told, std::size_t{1});
  EXPECT_EQ(pool.map(for_a_while, indices(20)), undisturbed(20));
  // The busy one may be among those that are to go, and does when it has ended its task.
  EXPECT_TRUE(wait_until([&] { return pool.stats().workers <= 1; }));
  note("go", "");
  EXPECT_EQ(longer.get(), f(1));
  EXPECT_TRUE(await_workers(pool, 0));
  expect_no_loss(pool);
}

TEST_P(Autoscale, ends_with_a_size) {
  Pool pool;
  pool.autoscale(0, 8, 50ms);
  EXPECT_EQ(pool.map(for_a_while, indices(50)), undisturbed(50));
  pool.resize(3);
  EXPECT_TRUE(await_workers(pool, 3));
  EXPECT_EQ(pool.map(for_a_while, indices(50)), undisturbed(50));
  EXPECT_EQ(pool.stats().workers, 3u);
  expect_no_loss(pool);
}

TEST_P(Autoscale, counts_slots_where_a_job_has_several) {
  Pool pool(PoolOptions{.workers_per_job = 3});
  pool.autoscale(1, 6, 100ms);
  auto results = pool.map_async(for_a_while, indices(200));
  EXPECT_TRUE(await_workers(pool, 6));
  EXPECT_EQ(results.get(), undisturbed(200));
  EXPECT_TRUE(await_workers(pool, 1));
  expect_works(pool, 1);
  expect_no_loss(pool);
}

TEST_P(Autoscale, that_makes_no_sense_is_refused) {
  Pool pool(1);
  EXPECT_THROW(pool.autoscale(2, 1), ConfigError);
  EXPECT_THROW(pool.autoscale(0, 0), ConfigError);
  EXPECT_THROW(pool.autoscale(0, 1, 0ms), ConfigError);
  EXPECT_EQ(pool.apply(f, std::size_t{1}), f(1));
}

INSTANTIATE_TEST_SUITE_P(With, Autoscale,
                         testing::Values(Mode{"local", {}}, Mode{"tls", {.link = "tls"}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
