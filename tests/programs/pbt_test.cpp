// SPDX-License-Identifier: Apache-2.0
// pbt beats grid search on the paper's toy; and on CartPole it ends the same with either
// trainer, byte for byte, whatever member is killed, and after kill -9 of the driver.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/examples/program.hpp"
#include "tests/locale/number_of.hpp"

namespace {

namespace fs = std::filesystem;

// The pids in a progress line; none in any other line.
std::vector<pid_t> members_in(const std::string& line) {
  static const std::regex pattern("^pbt +[0-9]+/[0-9]+ .* pids((?: [0-9]+)+)$");
  std::smatch match;
  if (!std::regex_search(line, match, pattern))
    return {};
  std::istringstream list(match[1]);
  return {std::istream_iterator<pid_t>(list), {}};
}

struct PbtTest : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("pbt-" + std::to_string(getpid()));

  PbtTest() { fs::create_directories(folder); }
  ~PbtTest() override { fs::remove_all(folder); }

  std::vector<std::string> command(const std::string& out,
                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> result = {PBT,
                                       "--problem",
                                       "cartpole",
                                       "--members",
                                       "3",
                                       "--rounds",
                                       "6",
                                       "--seed",
                                       "5",
                                       "--out",
                                       (folder / out).string(),
                                       "--evaluations",
                                       "4"};
    if (std::ranges::count(more, "--trainer") == 0)
      result.insert(result.end(), {"--iterations", "2", "--directions", "4"});
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }
  std::string content(const std::string& name) const {
    std::ifstream in(folder / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string run(const std::string& out, std::vector<std::string> more = {}) const {
    Program program(command(out, std::move(more)));
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), 0) << output;
    return output;
  }
  /// Kills a member after each of the rounds, and all of them after the third.
  void run_and_kill(const std::string& out, std::vector<std::string> more) const {
    Program program(command(out, std::move(more)));
    int rounds = 0;
    const auto& output = program.output();
    while (const auto line = program.line()) {
      const auto members = members_in(*line);
      if (members.empty())
        continue;
      ++rounds;
      for (std::size_t i = 0; i < (rounds == 3 ? members.size() : 1); ++i)
        ::kill(members[i], SIGKILL);
    }
    EXPECT_EQ(program.wait(), 0) << output;
    EXPECT_EQ(rounds, 6) << output;
    std::smatch lost;
    ASSERT_TRUE(
      std::regex_search(output, lost, std::regex("([0-9]+) members were lost")));
    EXPECT_GE(std::stoi(lost[1]), 5) << output;
  }
  void cut_after_three_rounds(const std::string& out,
                              std::vector<std::string> more) const {
    Program program(command(out, std::move(more)));
    ASSERT_TRUE(program.read_until(
      3, [](const std::string& line) { return !members_in(line).empty(); }))
      << program.output();
    program.kill(SIGKILL);
    program.wait();
  }
  void expect_equal(const std::string& one, const std::string& other) const {
    for (const auto* file : {"/policy", "/pbt.csv"}) {
      EXPECT_FALSE(content(one + file).empty()) << file;
      EXPECT_EQ(content(one + file), content(other + file)) << file;
    }
  }
};

TEST_F(PbtTest, reaches_the_optimum_of_the_toy_that_grid_search_misses) {
  Program program({PBT, "--problem", "toy", "--out", (folder / "toy").string()});
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  std::smatch scores;
  ASSERT_TRUE(std::regex_search(
    output, scores,
    std::regex("PBT ([0-9.]+), exploit only [0-9.]+, explore only [0-9.]+, grid search "
               "([0-9.]+)\n$")))
    << output;
  EXPECT_GT(fiber::test::number_of(scores[1]), 1.19);
  EXPECT_NEAR(fiber::test::number_of(scores[2]), 0.39, 0.005);
  EXPECT_TRUE(fs::exists(folder / "toy" / "pbt.png"));
}

TEST_F(PbtTest, killed_members_change_nothing) {
  run("undisturbed", {"--no-random-search"});
  run_and_kill("disturbed", {"--no-random-search"});
  expect_equal("disturbed", "undisturbed");
}

TEST_F(PbtTest, goes_on_after_kill_9_of_the_driver_and_compares_with_random_search) {
  const auto whole = run("whole");
  EXPECT_NE(whole.find("\nPBT: mean return "), std::string::npos) << whole;
  EXPECT_NE(whole.find("; random search: mean return "), std::string::npos) << whole;
  EXPECT_TRUE(fs::exists(folder / "whole" / "pbt.png"));
  cut_after_three_rounds("cut", {"--resume"});
  const auto output = run("cut", {"--resume"});
  EXPECT_NE(output.find("pbt: resumed after round "), std::string::npos) << output;
  expect_equal("cut", "whole");
  EXPECT_EQ(content("cut/random.csv"), content("whole/random.csv"));
}

TEST_F(PbtTest, refuses_an_option_of_the_other_trainer) {
  for (const auto& words : std::vector<std::vector<std::string>>{
         {"--trainer", "ppo", "--directions", "4"}, {"--steps-per-round", "100"}}) {
    Program program(command("refused", words));
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), 2) << output;
  }
}

/// The best score of any member in any round. What a member has learned it may lose in
/// the next round, and the last bits of its numbers depend on the processor.
double best_score(const std::string& csv) {
  std::istringstream lines(csv);
  double best = 0;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    std::istringstream cells(line);
    std::string cell;
    for (int column = 0; column < 4; ++column)
      std::getline(cells, cell, ',');
    best = std::max(best, fiber::test::number_of(cell));
  }
  return best;
}

TEST_F(PbtTest, members_that_learn_by_ppo_learn_the_same_when_they_are_killed) {
  const std::vector<std::string> ppo = {"--trainer", "ppo", "--steps-per-round", "6000",
                                        "--no-random-search"};
  run("undisturbed", ppo);
  const auto table = content("undisturbed/pbt.csv");
  EXPECT_GT(best_score(table), 300) << table; // Some 20 without learning.
  run_and_kill("disturbed", ppo);
  expect_equal("disturbed", "undisturbed");
}

TEST_F(PbtTest, ppo_goes_on_after_kill_9_of_the_driver) {
  const std::vector<std::string> ppo = {"--trainer", "ppo", "--steps-per-round", "1024",
                                        "--resume"};
  run("whole", ppo);
  EXPECT_TRUE(fs::exists(folder / "whole" / "pbt.png"));
  cut_after_three_rounds("cut", ppo);
  const auto output = run("cut", ppo);
  EXPECT_NE(output.find("pbt: resumed after round "), std::string::npos) << output;
  expect_equal("cut", "whole");
  EXPECT_EQ(content("cut/random.csv"), content("whole/random.csv"));
}

TEST_F(PbtTest, a_member_whose_rounds_take_too_long_is_an_error_in_the_end) {
  Program program(command("slow", {"--trainer", "ppo", "--steps-per-round", "10000000",
                                   "--round-timeout", "0.05"}));
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 2) << output;
  EXPECT_NE(output.find("took longer than round_timeout"), std::string::npos) << output;
}

TEST_F(PbtTest, mistakes_are_explained) {
  auto expect = [&](std::vector<std::string> words, const std::string& text) {
    Program program(std::move(words));
    const auto output = program.rest();
    EXPECT_NE(program.wait(), 0) << output;
    EXPECT_NE(output.find(text), std::string::npos) << output;
  };
  expect({PBT, "--problem", "carpole", "--out", folder.string()}, "cartpole");
  expect(command("x", {"--quantile", "0.7"}), "--quantile");
  expect({PBT, "--trainer", "ppo", "--out", folder.string()}, "--problem cartpole");
  run("mine", {"--rounds", "1", "--no-random-search"});
  expect(command("mine", {"--resume", "--seed", "6"}), "seed: saved with 5, now 6");
}

} // namespace
