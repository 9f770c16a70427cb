// SPDX-License-Identifier: Apache-2.0
// The promise of deep_ga: the same seed gives the same policy, byte for byte, whatever
// the number of workers and whoever is killed, the driver included; and tasks do not grow
// with the network.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fiber/rl/saved_policy.hpp"
#include "tests/examples/program.hpp"

namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct DeepGaTest : testing::Test {
  fs::path folder =
    fs::path(testing::TempDir()) / ("deep-ga-" + std::to_string(getpid()));

  DeepGaTest() { fs::create_directories(folder); }
  ~DeepGaTest() override { fs::remove_all(folder); }

  // Eight generations of Pendulum, which has no mark: the run goes to its end.
  std::vector<std::string> command(const std::string& out,
                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> result = {DEEP_GA,
                                       "--env",
                                       "pendulum",
                                       "--generations",
                                       "8",
                                       "--workers",
                                       "2",
                                       "--population",
                                       "30",
                                       "--parents",
                                       "6",
                                       "--evaluations",
                                       "4",
                                       "--hidden",
                                       "4",
                                       "--elite-episodes",
                                       "3",
                                       "--seed",
                                       "5",
                                       "--out",
                                       (folder / out).string()};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }

  std::string policy(const std::string& out) const {
    return content(folder / out / "policy");
  }

  std::string run(const std::string& out, std::vector<std::string> more = {}) {
    Program program(command(out, std::move(more)));
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), 0) << output;
    EXPECT_FALSE(policy(out).empty()) << output;
    return output;
  }
};

TEST_F(DeepGaTest, the_number_of_workers_changes_nothing) {
  run("two");
  run("one", {"--workers", "1"});
  run("five", {"--workers", "5"});
  run("seed", {"--seed", "6"});
  EXPECT_EQ(policy("one"), policy("two"));
  EXPECT_EQ(policy("five"), policy("two"));
  EXPECT_NE(policy("seed"), policy("two"));
  EXPECT_EQ(fiber::rl::load_policy(folder / "two" / "policy").environment, "pendulum");
  EXPECT_TRUE(fs::exists(folder / "two" / "curve.csv"));
  EXPECT_TRUE(fs::exists(folder / "two" / "curve.png"));
}

TEST_F(DeepGaTest, killed_workers_change_nothing) {
  run("undisturbed");
  Program program(command("disturbed"));
  int generations = 0;
  const auto& output = program.output();
  while (const auto line = program.line()) {
    const auto workers = workers_in(*line);
    if (workers.empty())
      continue;
    ++generations;
    // One worker after most generations, all of them after some.
    const auto victims = generations % 3 == 0 ? workers.size() : 1;
    for (std::size_t i = 0; i < victims; ++i)
      ::kill(workers[i], SIGKILL);
  }
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_EQ(generations, 8) << output;
  EXPECT_EQ(policy("disturbed"), policy("undisturbed")) << output;
  std::smatch lost;
  ASSERT_TRUE(std::regex_search(output, lost, std::regex("([0-9]+) workers lost")));
  EXPECT_GE(std::stoi(lost[1]), 4) << output;
}

TEST_F(DeepGaTest, a_run_resumed_after_kill_9_of_the_driver_ends_the_same) {
  run("undisturbed");
  {
    Program program(command("cut", {"--resume"}));
    ASSERT_TRUE(program.read_until(
      3, [](const std::string& line) { return !workers_in(line).empty(); }))
      << program.output();
    program.kill(SIGKILL); // In the middle of the next generation.
    EXPECT_EQ(program.wait(), -SIGKILL);
  }
  EXPECT_TRUE(policy("cut").empty());
  const auto output = run("cut", {"--resume"});
  EXPECT_NE(output.find("resumed after generation "), std::string::npos) << output;
  EXPECT_EQ(policy("cut"), policy("undisturbed"));
}

TEST_F(DeepGaTest, what_is_sent_does_not_grow_with_the_network) {
  auto bytes = [&](const std::string& units) {
    const auto output =
      run(units, {"--hidden", units, units, "--generations", "3", "--population", "8",
                  "--workers", "1", "--elite-episodes", "1", "--evaluations", "1"});
    std::smatch sent;
    EXPECT_TRUE(std::regex_search(output, sent, std::regex("([0-9]+) bytes sent")));
    return sent.empty() ? 0 : std::stoi(sent[1]);
  };
  // 122 and 4,612 parameters of four bytes. How many tasks the pool puts into a message
  // depends on how long they take, which is some hundred bytes in all.
  const auto small = bytes("8"), large = bytes("64");
  EXPECT_GT(small, 0);
  EXPECT_LT(std::abs(large - small), 2'000);
}

TEST_F(DeepGaTest, mistakes_are_explained_and_help_is_given) {
  auto expect = [&](std::vector<std::string> words, int code, const std::string& text) {
    Program program(std::move(words));
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), code) << output;
    EXPECT_NE(output.find(text), std::string::npos) << output;
  };
  run("mine", {"--generations", "1"});
  expect(command("mine", {"--resume", "--seed", "6"}), 2, "seed: saved with 5, now 6");
  expect(command("x", {"--parents", "31"}), 2, "1 to 30 parents");
  expect({DEEP_GA, "--env", "carpole", "--out", folder.string()}, 2, "cartpole");
  expect({DEEP_GA, "--help"}, 0, "--resume");
}

} // namespace
