// SPDX-License-Identifier: Apache-2.0
// The promise: the actor-learner learns whoever is killed, one or all; and a program that
// was stopped goes on where it was.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/e2e/support/processes.hpp"
#include "tests/examples/program.hpp"

namespace {

namespace fs = std::filesystem;

class ActorLearner : public testing::Test {
protected:
  ActorLearner() {
    fs::create_directories(folder_);
    setenv(fiber::e2e::mark_variable, mark_.c_str(), 1);
  }
  ~ActorLearner() override {
    EXPECT_TRUE(fiber::e2e::wait_until([&] { return jobs().empty(); }))
      << "jobs are left";
    fs::remove_all(folder_);
  }

  std::vector<std::string> command(int updates) const {
    return {ACTOR_LEARNER,
            "--rollouts",
            "3",
            "--updates",
            std::to_string(updates),
            "--checkpoint",
            (folder_ / "checkpoint").string()};
  }
  bool has_checkpoint() const { return fs::exists(folder_ / "checkpoint"); }
  std::vector<pid_t> jobs() const { return fiber::e2e::jobs(mark_); }
  static bool is_report(const std::string& line) {
    return std::regex_search(line, std::regex("^update [0-9]+: .* steps/s$"));
  }
  static double score_in(const std::string& output) {
    std::smatch score;
    return std::regex_search(output, score, std::regex("fresh episodes: ([0-9.]+)"))
             ? std::stod(score[1])
             : 0;
  }

private:
  const std::string mark_ = "actor-learner-" + std::to_string(getpid());
  const fs::path folder_ = fs::path(testing::TempDir()) / mark_;
};

TEST_F(ActorLearner, learns_although_its_actors_are_killed) {
  Program program(command(200));
  std::mt19937 random{std::random_device()()};
  const auto& output = program.output();
  int reports = 0;
  while (const auto line = program.line()) {
    if (!is_report(*line) || ++reports % 2 != 0)
      continue;
    auto victims = jobs();
    std::shuffle(victims.begin(), victims.end(), random);
    if (reports % 4 != 0)
      victims.resize(std::min<std::size_t>(victims.size(), 1));
    for (auto pid : victims)
      kill(pid, SIGKILL);
  }
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_GE(score_in(output), 475) << output;
  std::smatch restarts;
  ASSERT_TRUE(std::regex_search(output, restarts, std::regex("([0-9]+) restarts")));
  EXPECT_GE(std::stoi(restarts[1]), 8) << output;
}

TEST_F(ActorLearner, goes_on_where_it_was_interrupted) {
  {
    Program program(command(200));
    ASSERT_TRUE(program.read_until(3, is_report)) << program.output();
    program.kill(SIGINT);
    EXPECT_EQ(program.wait(), -SIGINT);
    EXPECT_TRUE(has_checkpoint());
  }
  Program program(command(200));
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  std::smatch from;
  ASSERT_TRUE(
    std::regex_search(output, from, std::regex("resuming after update ([0-9]+)")))
    << output;
  EXPECT_GE(std::stoi(from[1]), 30);
  EXPECT_GE(score_in(output), 475) << output;
}

} // namespace
