// SPDX-License-Identifier: Apache-2.0
// The wall clock of a machine is set while a pool is at work. libfaketime does that for
// the processes of one test alone.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/support/driver_process.hpp"
#include "tests/e2e/support/notes.hpp"
#include "tests/e2e/support/processes.hpp"

namespace fiber::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Says which time it is, by a file that libfaketime reads whenever somebody asks.
class WallClock {
public:
  explicit WallClock(const fs::path& folder) : path_(folder / "faketime") { jump("+0"); }

  void jump(const std::string& by) {
    auto next = path_.string() + ".next";
    std::ofstream(next) << by << '\n';
    fs::rename(next, path_);
  }
  std::vector<std::string> settings() const {
    return {"LD_PRELOAD=" FAKETIME_LIBRARY, "FAKETIME_TIMESTAMP_FILE=" + path_.string(),
            "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"};
  }

private:
  fs::path path_;
};

class ClockJump : public testing::TestWithParam<const char*> {};

TEST_P(ClockJump, loses_no_worker_and_keeps_none_from_coming) {
  Scratch scratch;
  WallClock clock(scratch.folder());
  auto settings = clock.settings();
  settings.push_back(std::string("FIBER_LINK=") + GetParam());
  auto now = std::chrono::system_clock::now();
  Driver driver("work", settings);
  auto have_run = [](std::size_t n) {
    return wait_until([n] { return notes("runs").size() >= n; });
  };
  ASSERT_TRUE(have_run(20));
  clock.jump("+5000d"); // Beyond the ten years of the session's certificates.
  ASSERT_TRUE(have_run(60));
  auto workers = jobs(scratch.mark());
  ASSERT_EQ(workers.size(), 2u);
  kill(workers[0], SIGKILL); // Its replacement comes in that future.
  ASSERT_TRUE(have_run(100));
  clock.jump("-30d");
  ASSERT_TRUE(have_run(140));
  kill(workers[1], SIGKILL);
  EXPECT_EQ(driver.wait(), 0);
  auto said = notes("driver");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].starts_with("good lost 2 ")) << said[0];

  auto is_off_by = [&](std::chrono::seconds offset) {
    auto all = notes("clock");
    return std::any_of(all.begin(), all.end(), [&](auto& note) {
      return std::chrono::abs(std::chrono::seconds(std::stoll(note)) - offset -
                              now.time_since_epoch()) < 10min;
    });
  };
  EXPECT_TRUE(is_off_by(0s) && is_off_by(5000 * 24h) && is_off_by(-30 * 24h))
    << "no worker has seen the jumps";
}

INSTANTIATE_TEST_SUITE_P(On, ClockJump, testing::Values("auto", "tls"),
                         [](auto& link) { return std::string(link.param); });

} // namespace
} // namespace fiber::e2e
