// SPDX-License-Identifier: Apache-2.0
// map_elites finds the same elites with any number of workers, whoever is killed, and
// continues after kill -9.

#include <filesystem>
#include <fstream>
#include <iterator>

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fiber/rl/saved_policy.hpp"
#include "tests/examples/program.hpp"

namespace {

namespace fs = std::filesystem;

struct MapElitesProgramTest : testing::Test {
  fs::path folder =
    fs::path(testing::TempDir()) / ("map-elites-" + std::to_string(getpid()));

  MapElitesProgramTest() { fs::create_directories(folder); }
  ~MapElitesProgramTest() override { fs::remove_all(folder); }

  std::vector<std::string> command(const std::string& out,
                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {MAP_ELITES,
                                      "--emitters",
                                      "2",
                                      "--batch",
                                      "8",
                                      "--iterations",
                                      "10",
                                      "--workers",
                                      "2",
                                      "--out",
                                      (folder / out).string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string elites(const std::string& out) const {
    std::ifstream in(folder / out / "archive.csv", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string run(const std::string& out, std::vector<std::string> more = {}) {
    Program program(command(out, std::move(more)));
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), 0) << output;
    EXPECT_FALSE(elites(out).empty()) << output;
    return elites(out);
  }
};

TEST_F(MapElitesProgramTest, the_number_of_workers_and_their_deaths_change_nothing) {
  const auto two = run("two");
  EXPECT_TRUE(two.starts_with("return,x position,y velocity\n"));
  EXPECT_EQ(run("three", {"--workers", "3"}), two);
  ::setenv("FIBER_CHAOS", "kill=0.1,seed=3", 1);
  EXPECT_EQ(run("killed"), two);
  ::unsetenv("FIBER_CHAOS");
  EXPECT_NE(run("other", {"--seed", "2"}), two);
  EXPECT_NE(run("noise", {"--method", "map-elites"}), two);
  EXPECT_TRUE(fs::exists(folder / "two" / "archive.png"));
  const auto policy = fiber::rl::load_policy(folder / "two" / "policy");
  EXPECT_EQ(policy.environment, "lunar_lander");
}

TEST_F(MapElitesProgramTest, a_run_resumed_after_kill_9_ends_the_same) {
  Program program(command("cut", {"--iterations", "1000000"}));
  ASSERT_TRUE(program.read_until(1,
                                 [](const std::string& line) {
                                   return line.find(" episodes  coverage ") !=
                                          std::string::npos;
                                 }))
    << program.output();
  program.kill(SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  // Runs no further iteration, and says how many there were.
  Program asked(command("cut", {"--resume", "--iterations", "1"}));
  const auto output = asked.rest();
  EXPECT_EQ(asked.wait(), 0) << output;
  const std::string before = "resumed after iteration ";
  ASSERT_NE(output.find(before), std::string::npos) << output;
  const auto last =
    std::to_string(5 + std::stoi(output.substr(output.find(before) + before.size())));
  const auto resumed = run("cut", {"--resume", "--iterations", last});
  EXPECT_EQ(run("whole", {"--iterations", last}), resumed);
}

} // namespace
