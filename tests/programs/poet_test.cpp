// SPDX-License-Identifier: Apache-2.0
// The promise of poet: the same seed gives the same run, byte for byte, whatever the
// number of workers and whoever is killed on the way, the driver included.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/examples/program.hpp"

namespace {

namespace fs = std::filesystem;

struct PoetProgramTest : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("poet-" + std::to_string(getpid()));

  PoetProgramTest() { fs::create_directories(folder); }
  ~PoetProgramTest() override { fs::remove_all(folder); }

  // A short run that admits environments and tries transfers.
  std::vector<std::string> command(const std::string& out,
                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {POET,
                                    "--iterations",
                                    "7",
                                    "--directions",
                                    "4",
                                    "--max-steps",
                                    "40",
                                    "--seed",
                                    "5",
                                    "--hidden",
                                    "0",
                                    "--mutate-every",
                                    "2",
                                    "--transfer-every",
                                    "3",
                                    "--children",
                                    "2",
                                    "--workers",
                                    "2",
                                    "--evaluations",
                                    "2",
                                    "--reproduce-at",
                                    "-1000",
                                    "--max-environments",
                                    "3",
                                    "--least-return",
                                    "-1000",
                                    "--out",
                                    (folder / out).string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // All that a run saves, but for the picture, whose script names its folder.
  std::map<std::string, std::string> files(const std::string& out) const {
    std::map<std::string, std::string> all;
    for (const auto& file : fs::recursive_directory_iterator(folder / out))
      if (file.is_regular_file() &&
          !file.path().filename().string().starts_with("environments.")) {
        std::ifstream in(file.path(), std::ios::binary);
        all[fs::relative(file.path(), folder / out)] = {
          std::istreambuf_iterator<char>(in), {}};
      }
    return all;
  }

  std::map<std::string, std::string> run(const std::string& out,
                                         std::vector<std::string> more = {}) {
    Program program(command(out, std::move(more)));
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), 0) << output;
    EXPECT_TRUE(fs::exists(folder / out / "environments.png")) << output;
    return files(out);
  }
};

TEST_F(PoetProgramTest, workers_and_their_deaths_change_nothing) {
  const auto three = run("three", {"--workers", "1..3"});
  EXPECT_TRUE(three.contains("checkpoint"));
  EXPECT_TRUE(three.contains("agents/E3"));
  EXPECT_NE(three.at("events.csv").find(",admitted,2,1,"), std::string::npos);
  EXPECT_EQ(run("one", {"--workers", "1"}), three);

  auto disturbed = command("killed");
  disturbed.insert(disturbed.begin(), {"/usr/bin/env", "FIBER_CHAOS=kill=0.02,seed=3"});
  Program program(disturbed);
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_EQ(output.find("; 0 workers lost"), std::string::npos) << output;
  EXPECT_EQ(files("killed"), three) << output;
}

TEST_F(PoetProgramTest, a_run_resumed_after_kill_9_and_ctrl_c_ends_the_same) {
  const auto undisturbed = run("undisturbed");
  {
    Program program(command("cut", {"--resume"}));
    ASSERT_TRUE(program.read_until(
      1, [](const std::string& line) { return line.starts_with("iteration 2:"); }))
      << program.output();
    program.kill(SIGKILL); // In the middle of an iteration.
    EXPECT_EQ(program.wait(), -SIGKILL);
  }
  {
    Program program(command("cut", {"--resume"}), true);
    ASSERT_TRUE(program.read_until(
      1, [](const std::string& line) { return line.starts_with("iteration 4:"); }))
      << program.output();
    program.kill_group(SIGINT);
    program.rest();
    const auto& output = program.output();
    EXPECT_NE(output.find("resumed after 2 iterations"), std::string::npos) << output;
    EXPECT_EQ(program.wait(), -SIGINT) << output;
    EXPECT_NE(output.find("--resume goes on from"), std::string::npos) << output;
    EXPECT_FALSE(fs::exists(folder / "cut" / "environments.png"));
  }
  EXPECT_EQ(run("cut", {"--resume"}), undisturbed);

  Program other(command("cut", {"--resume", "--seed", "6"}));
  const auto refusal = other.rest();
  EXPECT_EQ(other.wait(), 2);
  EXPECT_NE(refusal.find("seed: saved with 5, now 6"), std::string::npos) << refusal;
}

TEST_F(PoetProgramTest, wrong_arguments_are_explained_and_help_is_given) {
  const auto expect_refusal = [&](std::vector<std::string> arguments, const char* what) {
    arguments.insert(arguments.begin(), {POET, "--out", folder.string()});
    Program program(arguments);
    const auto output = program.rest();
    EXPECT_NE(program.wait(), 0) << output;
    EXPECT_NE(output.find(what), std::string::npos) << output;
  };
  expect_refusal({"--workers", "4..2"}, "the least number of workers is above the most");
  expect_refusal({"--genes", "holes"}, "holes");
  expect_refusal({"--directions", "0"}, "--directions");
  expect_refusal({"--least-return", "400"}, "least return must not be above its most");
  expect_refusal({"--play", (folder / "E9").string()}, "there is no file");
  Program help({POET, "--help"});
  EXPECT_NE(help.rest().find("--transfer-every"), std::string::npos);
  EXPECT_EQ(help.wait(), 0);
}

} // namespace
