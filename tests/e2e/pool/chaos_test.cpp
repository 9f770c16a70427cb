// SPDX-License-Identifier: Apache-2.0
// The promise: FIBER_CHAOS makes real faults in any program, and its output stays the
// same.
#include <chrono>
#include <regex>
#include <thread>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "actors/core/chaos.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

std::size_t briefly(std::size_t i) {
  std::this_thread::sleep_for(2ms);
  return f(i);
}

struct Setup {
  const char* name;
  Config config;
  std::size_t a_job;
};
void PrintTo(const Setup& setup, std::ostream* out) {
  *out << setup.name;
}

class UnderChaos : public SessionTest, public testing::WithParamInterface<Setup> {};

TEST_P(UnderChaos, results_are_the_same_and_the_faults_are_told) {
  auto config = GetParam().config;
  config.heartbeat_timeout = 1s;
  config.chaos = "kill=0.04,stall=0.01,seed=11";
  config.log_level = "warn";
  testing::internal::CaptureStderr(); // Where the log is.
  open(config);
  {
    Pool pool(
      PoolOptions{.workers = 4, .workers_per_job = GetParam().a_job, .max_retries = 5});
    EXPECT_EQ(pool.map(briefly, indices(400)), undisturbed(400));
    EXPECT_EQ(pool.map(briefly, indices(100), {.chunksize = 10}), undisturbed(100));
    auto stats = pool.stats();
    EXPECT_GT(stats.workers_lost, 0u);
    EXPECT_GT(stats.retries, 0u);
    EXPECT_EQ(stats.failed, 0u);
  }
  close();
  auto log = testing::internal::GetCapturedStderr();
  std::smatch told;
  ASSERT_TRUE(std::regex_search(
    log, told, std::regex(R"(chaos: (\d+) kills, (\d+) stalls, (\d+) retries; seed 11)")))
    << log;
  for (auto i : {1u, 2u, 3u})
    EXPECT_GT(std::stoi(told[i].str()), 0) << told[0];
}

TEST_P(UnderChaos, a_task_is_left_alone_in_its_last_run) {
  auto config = GetParam().config;
  config.chaos = "kill=1";
  open(config);
  Pool pool(
    PoolOptions{.workers = 2, .workers_per_job = GetParam().a_job, .max_retries = 1});
  EXPECT_EQ(pool.map(f, indices(10)), undisturbed(10));
  // All first runs were killed; a job takes one of each of its workers with it.
  EXPECT_GE(pool.stats().workers_lost, 10 / GetParam().a_job);
  Pool once(PoolOptions{.workers = 2, .max_retries = 0});
  EXPECT_EQ(once.map(f, indices(10)), undisturbed(10));
  EXPECT_EQ(once.stats().workers_lost, 0u);
}

INSTANTIATE_TEST_SUITE_P(On, UnderChaos,
                         testing::Values(Setup{"local", {}, 1},
                                         Setup{"tls", {.link = "tls"}, 1},
                                         Setup{"several_a_job", {}, 2}),
                         [](auto& info) { return std::string(info.param.name); });

using actors::Chaos;

TEST(Chaos, is_drawn_from_the_seed_and_the_task_alone) {
  auto chaos = Chaos::parse("stall=0.25,kill=0.5,seed=3");
  ASSERT_TRUE(chaos);
  std::size_t fates[3] = {};
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    auto [fate, length] = chaos->draw(1, i, 1);
    EXPECT_EQ(chaos->draw(1, i, 1).fate, fate);
    ++fates[static_cast<std::size_t>(fate)];
    if (fate == Chaos::Fate::stall) {
      EXPECT_TRUE(length >= 0.5 && length < 1.5) << length;
    }
  }
  EXPECT_NEAR(static_cast<double>(fates[1]), 5000, 250);
  EXPECT_NEAR(static_cast<double>(fates[2]), 2500, 250);
}

TEST(Chaos, that_makes_no_sense_is_refused) {
  for (auto* text : {"kill", "kill=2", "kill=-1", "kill=0.6,stall=0.6", "seed=x",
                     "kill=0.1 ", "explode=1", "kill=nan"})
    EXPECT_FALSE(Chaos::parse(text)) << text;
  EXPECT_FALSE(Chaos::parse("seed=5")->on());
}

} // namespace
} // namespace fiber::e2e
