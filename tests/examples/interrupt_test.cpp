// SPDX-License-Identifier: Apache-2.0
// The promise: Ctrl-C ends every example, whatever it is doing, and all that it has
// started; what it had saved is there, and the next run goes on from it.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/e2e/support/processes.hpp"
#include "tests/examples/program.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace e2e = fiber::e2e;

constexpr auto patience = 100s;
constexpr int tries = 20; ///< To catch a program that is soon done.

struct Example {
  std::string program;
  std::size_t jobs = 1; ///< It is interrupted when it has as many.
  std::vector<std::string> arguments = {};
};

void PrintTo(const Example& example, std::ostream* out) {
  *out << example.program;
}
std::string name_of(const testing::TestParamInfo<Example>& info) {
  return fs::path(info.param.program).filename();
}

std::string command_line(const std::string& program) {
  return std::string(EXAMPLES) + "/" + program;
}

/// A folder for what a program saves, and the end of all that it has started.
class Interrupt : public testing::TestWithParam<Example> {
protected:
  Interrupt() {
    fs::create_directories(folder_);
    setenv(e2e::mark_variable, mark_.c_str(), 1);
  }
  ~Interrupt() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name) const { return folder_ / name; }

  /// Until it has started so many jobs; false if it has ended before.
  static bool reaches(const Program& program, std::size_t jobs) {
    for (const auto end = std::chrono::steady_clock::now() + patience;;) {
      std::size_t there = 0;
      for (auto zygote : e2e::children(program.pid()))
        there += e2e::children(zygote).size();
      if (there >= jobs)
        return true;
      if (program.has_ended() || std::chrono::steady_clock::now() > end)
        return false;
      std::this_thread::yield();
    }
  }
  bool nothing_is_left() const {
    return e2e::wait_until([&] { return e2e::marked(mark_).empty(); }, patience);
  }
  /// As if somebody had pressed Ctrl-C in the terminal where the program runs.
  void interrupt(Program& program) const {
    program.kill_group(SIGINT);
    ASSERT_TRUE(e2e::wait_until([&] { return program.has_ended(); }, patience));
    EXPECT_EQ(program.wait(), -SIGINT);
    EXPECT_TRUE(nothing_is_left());
  }

  /// Interrupts an example in the middle. One that was done before is begun again.
  template <class Send>
  void expect_end(const Example& example, Send send) {
    std::vector<std::string> command{command_line(example.program)};
    for (auto& argument : example.arguments)
      command.push_back(
        argument.starts_with("OUT") ? folder_.string() + argument.substr(3) : argument);
    for (int i = 0; i < tries; ++i) {
      fs::remove_all(folder_); // A try that was done has saved all of its results.
      fs::create_directories(folder_);
      Program program(command, true);
      if (reaches(program, example.jobs))
        send(program);
      ASSERT_TRUE(e2e::wait_until([&] { return program.has_ended(); }, patience));
      auto code = program.wait();
      EXPECT_TRUE(nothing_is_left());
      if (code == -SIGINT)
        return;
      ASSERT_EQ(code, 0) << program.rest();
    }
    FAIL() << "always done before it could be interrupted";
  }

private:
  const std::string mark_ = "interrupt-" + std::to_string(getpid());
  const fs::path folder_ = fs::path(testing::TempDir()) / mark_;
};

TEST_P(Interrupt, ends_an_example_and_its_jobs) {
  expect_end(GetParam(), [](Program& program) { program.kill(SIGINT); });
}

TEST_P(Interrupt, of_a_terminal_ends_an_example_and_its_jobs) {
  expect_end(GetParam(), [](Program& program) { program.kill_group(SIGINT); });
}

std::vector<Example> examples() {
  std::vector<Example> all{
    {"hello", 2},
    {"early_stop", 4},
    {"journal", 4, {"OUT/results"}},
    {"rl/asha", 2},
    {"rl/minimise", 2},
    {"pi", 4},
    {"parzen_estimation", 4},
    {"line_count", 4, {EXAMPLES_SOURCES, ".cpp"}},
    {"queue", 5},
    {"ring", 4},
    {"shared_data", 3},
    {"rl/caf_actor", 1},
    {"rl/remote_env_manager", 10},
    {"rl/ring_sgd", 4},
    {"rl/supervision", 3},
    {"rl/actor_learner", 5, {"--rollouts", "3", "--checkpoint", "OUT/file"}},
    {"rl/autoscale", 2},
    {"../programs/cma_es", 2, {"--workers", "2", "--out", "OUT"}},
    {"../programs/deep_ga", 2, {"--workers", "2", "--out", "OUT"}},
    {"../programs/pbt", 2, {"--problem", "cartpole", "--out", "OUT"}},
    {"../programs/es_train", 2, {"--workers", "2", "--out", "OUT"}}};
#ifdef POET
  all.push_back({"../programs/poet", 2, {"--workers", "2", "--out", "OUT"}});
#endif
#ifdef RING_DDP
  all.push_back({"rl/ring_ddp", 4});
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(Examples, Interrupt, testing::ValuesIn(examples()), name_of);

TEST_F(Interrupt, of_es_train_costs_no_iteration_that_it_has_shown) {
  const std::vector<std::string> command{command_line("../programs/es_train"),
                                         "--iterations",
                                         "12",
                                         "--directions",
                                         "24",
                                         "--episodes",
                                         "4",
                                         "--workers",
                                         "2",
                                         "--resume",
                                         "--out",
                                         file("").string()};
  {
    Program program(command, true);
    ASSERT_TRUE(program.read_until(3,
                                   [](const std::string& line) {
                                     return std::regex_search(
                                       line, std::regex("^ *[0-9]+/12 "));
                                   }))
      << program.output();
    interrupt(program);
  }
  EXPECT_TRUE(fs::exists(file("checkpoint")));
  Program program(command);
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 1) << output; // So short a run ends unsolved.
  std::smatch from;
  ASSERT_TRUE(
    std::regex_search(output, from, std::regex("resumed after iteration ([0-9]+)")))
    << output;
  EXPECT_GE(std::stoi(from[1]), 3);
  EXPECT_TRUE(fs::exists(file("policy.txt")));
}

TEST_F(Interrupt, of_ring_sgd_leaves_a_checkpoint_to_go_on_from) {
  const auto checkpoint = file("checkpoint").string();
  const auto command = [&](const std::string& steps) {
    return std::vector<std::string>{command_line("rl/ring_sgd"), "--steps", steps,
                                    "--checkpoint", checkpoint};
  };
  {
    Program program(command("1000000"), true);
    ASSERT_TRUE(e2e::wait_until([&] { return fs::exists(checkpoint); }, patience));
    interrupt(program);
  }
  EXPECT_TRUE(fs::exists(checkpoint));
  Program program(command("1")); // It has done more steps than that.
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_TRUE(std::regex_search(output, std::regex("steps [1-9][0-9]+ to "))) << output;
}

} // namespace
