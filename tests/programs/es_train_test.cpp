// SPDX-License-Identifier: Apache-2.0
// The demo's promise: the same seed gives the same policy, byte for byte, whatever the
// number of workers and whoever is killed on the way, the driver included.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fiber/rl/random.hpp"
#include "fiber/rl/saved_policy.hpp"
#include "rl/es_train/files.hpp"
#include "tests/examples/program.hpp"

namespace {

namespace fs = std::filesystem;

struct EsTrainTest : testing::Test {
  fs::path folder =
    fs::path(testing::TempDir()) / ("es-train-" + std::to_string(getpid()));

  EsTrainTest() { fs::create_directories(folder); }
  ~EsTrainTest() override { fs::remove_all(folder); }

  // A short run of 12 iterations that learns something in each.
  std::vector<std::string> command(const std::string& out,
                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> result = {ES_TRAIN,
                                       "--env",
                                       "cartpole",
                                       "--iterations",
                                       "12",
                                       "--directions",
                                       "24",
                                       "--episodes",
                                       "4",
                                       "--seed",
                                       "5",
                                       "--out",
                                       (folder / out).string(),
                                       "--workers",
                                       "2"};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }

  std::string policy(const std::string& out) const {
    std::ifstream in(folder / out / "policy.txt", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Runs to the end; a cartpole run this short ends unsolved.
  std::string run(const std::string& out, std::vector<std::string> more = {}) {
    Program program(command(out, std::move(more)));
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), 1) << output;
    EXPECT_FALSE(policy(out).empty()) << output;
    return policy(out);
  }
};

TEST_F(EsTrainTest, the_number_of_workers_changes_nothing) {
  const auto two = run("two");
  EXPECT_EQ(run("one", {"--workers", "1"}), two);
  EXPECT_EQ(run("five", {"--workers", "5"}), two);
  EXPECT_NE(run("seed", {"--seed", "7"}), two);
}

TEST_F(EsTrainTest, nor_does_it_when_observations_are_normalised) {
  const auto two = run("two", {"--normalise"});
  EXPECT_EQ(run("five", {"--normalise", "--workers", "5"}), two);
  EXPECT_NE(run("raw"), two);
  EXPECT_NE(two.find("\nnormalised 4 5\n"), std::string::npos);
}

TEST_F(EsTrainTest, killed_workers_change_nothing) {
  const auto undisturbed = run("undisturbed", {"--normalise"});
  Program program(command("disturbed", {"--normalise"}));
  int iterations = 0;
  const auto& output = program.output();
  while (const auto line = program.line()) {
    const auto workers = workers_in(*line);
    if (workers.empty())
      continue;
    ++iterations;
    // One worker after most iterations, all of them after some.
    const auto victims = iterations % 4 == 0 ? workers.size() : 1;
    for (std::size_t i = 0; i < victims; ++i)
      ::kill(workers[i], SIGKILL);
  }
  EXPECT_EQ(program.wait(), 1) << output;
  EXPECT_EQ(iterations, 12) << output;
  EXPECT_EQ(policy("disturbed"), undisturbed) << output;
  std::smatch lost;
  ASSERT_TRUE(std::regex_search(output, lost, std::regex("([0-9]+) workers lost")));
  EXPECT_GE(std::stoi(lost[1]), 6) << output;
}

TEST_F(EsTrainTest, augmented_random_search_is_the_same_whoever_is_killed) {
  // Without a mark: all iterations are run.
  const auto ars = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.end(), {"--env", "pendulum", "--evaluate-every", "1"});
    return command(out, more);
  };
  const auto whole = [&](const std::string& out, std::vector<std::string> more) {
    Program program(ars(out, std::move(more)));
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), 0) << output;
    return policy(out);
  };
  const auto undisturbed = whole("undisturbed", {"--ars"});
  EXPECT_NE(undisturbed.find("\nnormalised 3 inf\n"), std::string::npos);
  EXPECT_EQ(whole("five", {"--ars", "--workers", "5"}), undisturbed);
  EXPECT_NE(whole("v1", {"--ars", "v1"}), undisturbed);

  Program program(ars("disturbed", {"--ars", "--workers", "3"}));
  int killed = 0;
  while (const auto line = program.line())
    for (const auto pid : workers_in(*line))
      if (++killed % 2 == 0)
        ::kill(pid, SIGKILL);
  EXPECT_EQ(program.wait(), 0) << program.output();
  EXPECT_GE(killed, 12) << program.output();
  EXPECT_EQ(policy("disturbed"), undisturbed) << program.output();
}

TEST_F(EsTrainTest, a_variant_of_augmented_random_search_that_there_is_not_is_refused) {
  Program program(command("refused", {"--ars", "v3"}));
  EXPECT_NE(program.rest().find("--ars: expected v1, v1-t, v2 or v2-t, not \"v3\""),
            std::string::npos);
  EXPECT_NE(program.wait(), 0);
}

TEST_F(EsTrainTest, a_run_resumed_after_kill_9_of_the_driver_ends_the_same) {
  const auto undisturbed = run("undisturbed");
  fiber::rl::Random random(static_cast<std::uint64_t>(getpid()));
  // Few of the 12 iterations, because the program goes on until it is killed.
  const auto first = 1 + random.below(3);
  const auto second = 1 + random.below(3);
  SCOPED_TRACE("killed after " + std::to_string(first) + " and " +
               std::to_string(second) + " iterations");
  for (auto iterations : {first, second}) {
    Program program(command("cut", {"--resume"}));
    ASSERT_TRUE(program.read_until(
      iterations, [](const std::string& line) { return !workers_in(line).empty(); }))
      << program.output();
    program.kill(SIGKILL); // In the middle of the next iteration.
    EXPECT_EQ(program.wait(), -SIGKILL);
  }
  EXPECT_TRUE(policy("cut").empty());
  Program program(command("cut", {"--resume"}));
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 1);
  EXPECT_NE(output.find("resumed after iteration "), std::string::npos) << output;
  EXPECT_EQ(policy("cut"), undisturbed);
}

TEST_F(EsTrainTest, elastic_workers_change_nothing) {
  const auto two = run("two");
  EXPECT_EQ(run("elastic", {"--workers", "1..4"}), two);
}

// Everything that may go wrong, in one run: its workers come and go with the work, some
// are killed, and the driver is, after which it goes on with another number of workers.
TEST_F(EsTrainTest, all_disturbances_together_change_nothing) {
  const auto undisturbed = run("undisturbed", {"--normalise"});
  int killed = 0;
  for (const auto* workers : {"1..4", "3", "2..5"}) {
    const bool last = workers == std::string("2..5");
    Program program(
      command("disturbed", {"--normalise", "--resume", "--workers", workers}));
    const auto& output = program.output();
    for (int iterations = 0; last || iterations < 3;) {
      const auto line = program.line();
      if (!line)
        break;
      const auto pids = workers_in(*line);
      if (pids.empty())
        continue;
      ++iterations;
      ::kill(pids.back(), SIGKILL);
      ++killed;
    }
    if (!last)
      program.kill(SIGKILL);
    EXPECT_EQ(program.wait(), last ? 1 : -SIGKILL) << output;
  }
  EXPECT_GE(killed, 12);
  EXPECT_EQ(policy("disturbed"), undisturbed);
}

TEST_F(EsTrainTest, a_wrong_number_of_workers_is_refused) {
  for (const auto* workers : {"0", "8..4", "..", "4..", "many", "-1"}) {
    Program program(command("refused", {"--workers", workers}));
    const auto output = program.rest();
    EXPECT_NE(program.wait(), 0) << workers;
    EXPECT_NE(output.find("such as 8..512"), std::string::npos) << workers << output;
  }
}

TEST_F(EsTrainTest, an_environment_without_a_mark_is_run_to_its_end) {
  Program program({ES_TRAIN, "--env", "pendulum", "--workers", "2", "--iterations", "3",
                   "--directions", "8", "--episodes", "1", "--hidden", "4", "--out",
                   (folder / "pendulum").string()});
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_NE(output.find("done after 3 iterations: mean return -"), std::string::npos)
    << output;
  const auto saved = fiber::rl::es_train::load_policy(folder / "pendulum" / "policy.txt");
  EXPECT_EQ(saved.environment, "pendulum");
  EXPECT_EQ(saved.policy.hidden, std::vector<std::size_t>{4});
  EXPECT_EQ(saved.parameters.size(), 21u);
  const auto playable = fiber::rl::load_policy(folder / "pendulum" / "policy");
  EXPECT_EQ(playable.environment, "pendulum");
  EXPECT_EQ(playable.spec, saved.policy);
  EXPECT_EQ(playable.parameters.size(), playable.spec.parameter_count());
  EXPECT_TRUE(fs::exists(folder / "pendulum" / "curve.csv"));
  EXPECT_TRUE(fs::exists(folder / "pendulum" / "curve.png"));
}

TEST_F(EsTrainTest, a_checkpoint_of_another_run_is_refused_with_a_sentence) {
  run("mine");
  Program program(command("mine", {"--resume", "--seed", "6"}));
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 2);
  EXPECT_NE(output.find("seed: saved with 5, now 6"), std::string::npos) << output;
}

TEST_F(EsTrainTest, wrong_arguments_are_explained_and_help_is_given) {
  Program wrong({ES_TRAIN, "--env", "carpole", "--out", folder.string()});
  const auto refusal = wrong.rest();
  EXPECT_NE(refusal.find("carpole"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("cartpole"), std::string::npos) << refusal;
  EXPECT_EQ(wrong.wait(), 2);
  Program help({ES_TRAIN, "--help"});
  EXPECT_NE(help.rest().find("--resume"), std::string::npos);
  EXPECT_EQ(help.wait(), 0);
}

} // namespace
