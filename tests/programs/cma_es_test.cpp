// SPDX-License-Identifier: Apache-2.0
// cma_es finds the minimum, the same with any number of workers, and goes on after
// Ctrl-C.

#include <filesystem>
#include <fstream>
#include <iterator>

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/examples/program.hpp"

namespace {

namespace fs = std::filesystem;

struct CmaEsProgramTest : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("cma-es-" + std::to_string(getpid()));

  CmaEsProgramTest() { fs::create_directories(folder); }
  ~CmaEsProgramTest() override { fs::remove_all(folder); }

  std::vector<std::string> command(const std::string& out,
                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> result = {
      CMA_ES, "--dimension", "5", "--workers", "2", "--out", (folder / out).string()};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }
  std::string curve(const std::string& out) const {
    std::ifstream in(folder / out / "curve.csv", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

std::string last_line(const std::string& output) {
  const auto end = output.find_last_not_of('\n');
  const auto begin = output.rfind('\n', end);
  return output.substr(begin + 1, end - begin);
}

TEST_F(CmaEsProgramTest, finds_the_minimum_with_any_number_of_workers) {
  Program two(command("two"));
  const auto output = two.rest();
  EXPECT_EQ(two.wait(), 0) << output;
  EXPECT_NE(
    last_line(output).find(" at (1.000000, 1.000000, 1.000000, 1.000000, ...) after "),
    std::string::npos)
    << output;
  EXPECT_NE(last_line(output).find(": the values have converged"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder / "two" / "curve.png"));
  Program one(command("one", {"--workers", "1"}));
  EXPECT_EQ(last_line(one.rest()), last_line(output));
  EXPECT_EQ(curve("one"), curve("two"));
}

TEST_F(CmaEsProgramTest, goes_on_after_it_was_interrupted) {
  Program whole(command("whole"));
  const auto expected = last_line(whole.rest());
  {
    Program first(command("cut", {"--generations", "30"}));
    first.rest();
    EXPECT_EQ(first.wait(), 0);
  }
  {
    Program second(command("cut", {"--resume"}));
    while (const auto line = second.line())
      if (line->find(" evaluations  best ") != std::string::npos)
        break;
    second.kill(SIGINT);
    second.wait();
  }
  Program third(command("cut", {"--resume"}));
  const auto output = third.rest();
  EXPECT_NE(output.find("resumed after generation "), std::string::npos) << output;
  EXPECT_EQ(last_line(output), expected);
  EXPECT_EQ(curve("cut"), curve("whole"));
}

TEST_F(CmaEsProgramTest, mistakes_are_explained) {
  Program wrong(command("x", {"--function", "paraboloid"}));
  const auto refusal = wrong.rest();
  EXPECT_NE(refusal.find("rastrigin"), std::string::npos) << refusal;
  EXPECT_NE(wrong.wait(), 0);
  Program first(command("other", {"--generations", "2"}));
  first.rest();
  Program other(command("other", {"--resume", "--sigma", "0.25"}));
  const auto output = other.rest();
  EXPECT_EQ(other.wait(), 2);
  EXPECT_NE(output.find("sigma: saved with 0.5"), std::string::npos) << output;
}

} // namespace
