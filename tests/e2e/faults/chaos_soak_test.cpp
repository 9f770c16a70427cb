// SPDX-License-Identifier: Apache-2.0
// The promise: for as long as FIBER_TEST_CHAOS says (seconds; two minutes by default),
// workers are killed and stopped in maps of all kinds: no result is lost, none comes
// twice, nothing hangs, and the driver's memory stays what it is.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "base/log.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/e2e/support/memory.hpp"
#include "tests/e2e/support/notes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Most take half a millisecond, some ten.
std::size_t uneven(std::size_t i) {
  std::this_thread::sleep_for(i % 16 == 3 ? 10ms : 500us);
  return f(i);
}

std::size_t picky(std::size_t i) {
  if (i % 10 == 7)
    throw std::invalid_argument("no sevens");
  return uneven(i);
}

std::vector<std::size_t> large(std::size_t i, std::size_t n) {
  std::this_thread::sleep_for(1ms);
  return std::vector<std::size_t>(n, f(i));
}

class ChaosSoak : public SessionTest {
protected:
  static std::chrono::seconds length() {
    auto* told = std::getenv("FIBER_TEST_CHAOS");
    return std::chrono::seconds(told ? std::atoi(told) : 120);
  }
  static double used_mb() { return static_cast<double>(used_bytes()) / 1e6; }

  /// Each kind of call once. How many tasks that were.
  static std::size_t play(Pool& pool) {
    constexpr std::size_t many = 2000, some = 500, few = 100, numbers = 10'000;
    EXPECT_EQ(pool.map(uneven, indices(many)), undisturbed(many));
    EXPECT_EQ(pool.map(uneven, indices(some), {.chunksize = 16}), undisturbed(some));
    std::vector<std::size_t> seen(some);
    for (auto value : pool.imap_unordered(uneven, indices(some)))
      for (std::size_t i = 0; i < some; ++i)
        seen[i] += value == f(i) ? 1 : 0;
    EXPECT_EQ(seen, std::vector<std::size_t>(some, 1));
    auto outcomes = pool.map_async(picky, indices(some)).outcomes();
    for (std::size_t i = 0; i < some; ++i) {
      EXPECT_EQ(outcomes[i].ok(), i % 10 != 7) << i;
      if (outcomes[i].ok()) {
        EXPECT_EQ(outcomes[i].value(), f(i));
      }
    }
    std::vector<std::pair<std::size_t, std::size_t>> sizes;
    for (std::size_t i = 0; i < few; ++i)
      sizes.emplace_back(i, numbers);
    auto vectors = pool.starmap(large, sizes);
    for (std::size_t i = 0; i < few; ++i)
      EXPECT_EQ(vectors[i], std::vector<std::size_t>(numbers, f(i))) << i;
    std::vector<Future<std::size_t>> futures;
    for (std::size_t i = 0; i < few; ++i)
      futures.push_back(pool.apply_async(uneven, i));
    for (std::size_t i = 0; i < few; ++i)
      EXPECT_EQ(futures[i].get(), f(i));
    return many + 3 * some + 2 * few;
  }
};

TEST_F(ChaosSoak, loses_nothing_doubles_nothing_and_never_hangs) {
  Config config;
  config.heartbeat_timeout = 3s; // Tests run beside this one: a shorter one would lose
                                 // workers that are merely slow.
  config.chaos = "kill=0.0003,stall=0.0001,seed=5";
  config.log_level = "error";
  open(config);
  std::size_t tasks = 0;
  double settled_mb = 0;
  PoolStats stats;
  const auto begin = Clock::now();
  {
    Pool pool(PoolOptions{.workers = 4, .max_retries = 10});
    while (Clock::now() - begin < length() && !HasFailure()) {
      tasks += play(pool);
      if (settled_mb == 0 && Clock::now() - begin > length() / 10)
        settled_mb = used_mb();
    }
    stats = pool.stats();
  }
  auto grown = used_mb() - settled_mb;
  EXPECT_LT(grown, 32);
  EXPECT_EQ(stats.done + stats.failed, tasks);
  EXPECT_GT(stats.workers_lost, 0u);
  testing::internal::CaptureStderr(); // What chaos says at the end.
  log().set_level(spdlog::level::warn);
  close();
  auto told = testing::internal::GetCapturedStderr();
  for (auto* none : {"chaos: 0 kills", " 0 stalls", " 0 retries"})
    EXPECT_EQ(told.find(none), told.npos) << told;
  EXPECT_NE(told.find("chaos: "), told.npos) << told;
  std::cout << told << tasks << " tasks, " << stats.workers_lost << " workers lost, "
            << stats.late << " late results, driver grown by " << grown << " MB\n";
}

} // namespace
} // namespace fiber::e2e
