// SPDX-License-Identifier: Apache-2.0
// Promise: ppo learns within seconds; the same seed gives the same curve and the same
// policy, byte for byte, for any number of jobs, whoever is killed, the driver included.
// With actors it learns, too, whoever is killed; several learners learn as one.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/e2e/support/processes.hpp"
#include "tests/examples/program.hpp"
#include "tests/locale/number_of.hpp"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A curve without its two columns of time, the last ones.
std::string curve(const fs::path& folder) {
  std::istringstream lines(read(folder / "curve.csv"));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    for (int column = 0; column < 2; ++column)
      line.erase(line.rfind(','));
    kept += line + '\n';
  }
  return kept;
}

struct PpoTest : testing::Test {
  const std::string mark = "ppo-test-" + std::to_string(::getpid());
  const fs::path folder = fs::path(testing::TempDir()) / mark;

  PpoTest() {
    fs::create_directories(folder);
    ::setenv(fiber::e2e::mark_variable, mark.c_str(), 1);
  }
  ~PpoTest() override { fs::remove_all(folder); }

  std::vector<std::string> command(const std::string& out,
                                   std::vector<std::string> more) const {
    std::vector<std::string> words = {PPO, "--out", (folder / out).string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// A run of 40 updates.
  std::vector<std::string> brief(const std::string& out,
                                 std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--env", "cartpole", "--seed", "3", "--steps", "10240",
                               "--eval-episodes", "5"});
    return command(out, std::move(more));
  }
  /// A run that learns.
  std::vector<std::string> asynchronous(const std::string& out, const std::string& actors,
                                        std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {"--asynchronous", "--actors", actors, "--env", "cartpole", "--seed", "1",
                 "--steps", "102400", "--eval-every", "4096", "--eval-episodes", "20"});
    return command(out, std::move(more));
  }
  static double mean_return(const std::string& output) {
    auto at = output.rfind("mean return ");
    return at == std::string::npos ? 0 : fiber::test::number_of(output.substr(at + 12));
  }
  /// The best mean return of fresh episodes during a run. An asynchronous run depends on
  /// timing, so what it has learned it may forget again.
  static double best_return(const std::string& output) {
    const std::string words = " steps: mean return ";
    double best = 0;
    for (auto at = output.find(words); at != std::string::npos;
         at = output.find(words, at + 1))
      best = std::max(best, fiber::test::number_of(output.substr(at + words.size())));
    return best;
  }
  std::string run(const std::vector<std::string>& words, int exit_code = 0) const {
    Program program(words);
    auto output = program.rest();
    EXPECT_EQ(program.wait(), exit_code) << output;
    return output;
  }

  void expect_equal(const std::string& one, const std::string& other) const {
    EXPECT_EQ(curve(folder / one), curve(folder / other));
    EXPECT_TRUE(read(folder / one / "policy") == read(folder / other / "policy"));
  }
  void expect_jobs_change_no_byte(std::vector<std::string> options) const {
    run(brief("alone", options));
    options.insert(options.end(), {"--jobs", "2"});
    Program program(brief("jobs", options));
    std::vector<pid_t> jobs;
    EXPECT_TRUE(fiber::e2e::wait_until([&] {
      jobs = fiber::e2e::jobs(mark);
      // The log is begun when all environments are there.
      return (jobs.size() == 2 && fs::exists(folder / "jobs" / "curve.csv")) ||
             program.has_ended();
    }));
    ASSERT_EQ(jobs.size(), 2U);
    ::kill(jobs[0], SIGKILL);
    auto output = program.rest();
    EXPECT_EQ(program.wait(), 0) << output;
    expect_equal("jobs", "alone");
  }
  void expect_kill_changes_no_byte(std::vector<std::string> options) const {
    run(brief("whole", options));
    options.insert(options.end(), {"--save-every", "3"});
    {
      Program program(brief("killed", options));
      EXPECT_TRUE(fiber::e2e::wait_until([&] {
        return fs::exists(folder / "killed" / "checkpoint") || program.has_ended();
      }));
      program.kill(SIGKILL);
      program.wait();
    }
    options.emplace_back("--resume");
    auto output = run(brief("killed", options));
    EXPECT_NE(output.find("resumed after update "), std::string::npos) << output;
    expect_equal("killed", "whole");
  }
};

TEST_F(PpoTest, learns_to_balance_the_pole_in_a_short_run) {
  auto output = run(command("short", {"--env", "cartpole", "--seed", "1", "--steps",
                                      "51200", "--eval-episodes", "20"}));
  EXPECT_GE(mean_return(output), 195) << output;
  EXPECT_TRUE(output.ends_with(" over 20 fresh episodes\n")) << output;
}

TEST_F(PpoTest, jobs_and_their_deaths_change_no_byte) {
  expect_jobs_change_no_byte({});
}

// Episodes last longer than a rollout, so memory is carried from one to the next.
TEST_F(PpoTest, a_recurrent_policy_is_the_same_for_jobs_that_die_and_after_a_resume) {
  const std::vector<std::string> recurrent = {
    "--env", "cartpole_no_velocity", "--lstm", "8", "--rollout",
    "16",    "--save-every",         "3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), recurrent.begin(), recurrent.end());
    more.insert(more.end(), {"--seed", "3", "--steps", "10240", "--eval-episodes", "5"});
    return more;
  };
  run(command("alone", with({})));
  Program program(command("jobs", with({"--jobs", "2"})));
  EXPECT_TRUE(fiber::e2e::wait_until(
    [&] { return fs::exists(folder / "jobs" / "checkpoint") || program.has_ended(); }));
  const auto jobs = fiber::e2e::jobs(mark);
  ASSERT_EQ(jobs.size(), 2U);
  ::kill(jobs[0], SIGKILL);
  auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_TRUE(read(folder / "jobs" / "policy") == read(folder / "alone" / "policy"));
  {
    Program killed(command("killed", with({})));
    EXPECT_TRUE(fiber::e2e::wait_until([&] {
      return fs::exists(folder / "killed" / "checkpoint") || killed.has_ended();
    }));
    killed.kill(SIGKILL);
    killed.wait();
  }
  output = run(command("killed", with({"--resume"})));
  EXPECT_NE(output.find("resumed after update "), std::string::npos) << output;
  EXPECT_EQ(curve(folder / "killed"), curve(folder / "alone"));
  EXPECT_TRUE(read(folder / "killed" / "policy") == read(folder / "alone" / "policy"));
  output = run({PLAY, (folder / "alone" / "policy").string(), "--steps", "5"});
  EXPECT_NE(output.find("cartpole_no_velocity, episode 1: return 5\n"), std::string::npos)
    << output;
}

TEST_F(PpoTest, a_run_that_was_killed_goes_on_as_if_it_had_not_been) {
  expect_kill_changes_no_byte({});
}

const std::vector<std::string> overlapped = {"--overlap", "--normalise-observations",
                                             "--normalise-rewards"};

TEST_F(PpoTest, jobs_of_overlapped_rollouts_and_their_deaths_change_no_byte) {
  expect_jobs_change_no_byte(overlapped);
}

TEST_F(PpoTest, a_run_of_overlapped_rollouts_that_was_killed_goes_on) {
  expect_kill_changes_no_byte(overlapped);
}

TEST_F(PpoTest, learns_from_overlapped_rollouts) {
  auto output = run(command("overlap", {"--overlap", "--env", "cartpole", "--seed", "1",
                                        "--steps", "51200", "--eval-episodes", "20"}));
  EXPECT_GE(mean_return(output), 195) << output;
  output = run(brief("bad", {"--overlap", "--asynchronous"}), 108);
  EXPECT_NE(output.find("--overlap"), std::string::npos) << output;
}

#ifdef FIBER_HAS_RING
TEST_F(PpoTest, two_learners_learn_to_balance_the_pole) {
  auto output =
    run(command("learners", {"--learners", "2", "--env", "cartpole", "--seed", "1",
                             "--steps", "30720", "--eval-episodes", "20"}));
  EXPECT_GE(mean_return(output), 195) << output;
}

TEST_F(PpoTest, the_death_of_a_learner_changes_no_byte) {
  std::vector<std::string> two = {"--learners", "2", "--save-every", "3"};
  run(brief("whole", two));
  Program program(brief("killed", two));
  std::vector<pid_t> learners;
  EXPECT_TRUE(fiber::e2e::wait_until([&] {
    learners = fiber::e2e::jobs(mark);
    return (learners.size() == 2 && fs::exists(folder / "killed" / "curve.csv")) ||
           program.has_ended();
  }));
  ASSERT_EQ(learners.size(), 2U);
  ::kill(learners[1], SIGKILL);
  auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_NE(output.find(" and restarts"), std::string::npos) << output; // The ring.
  expect_equal("killed", "whole");
}

// Pendulum's observations are normalised, which learners do together.
TEST_F(PpoTest, learners_of_a_driver_that_was_killed_go_on_as_if_it_had_not_been) {
  std::vector<std::string> two = {"--learners",   "2", "--env",           "pendulum",
                                  "--seed",       "1", "--steps",         "40960",
                                  "--epochs",     "1", "--eval-episodes", "2",
                                  "--save-every", "1"};
  run(command("whole", two));
  Program program(command("killed", two));
  EXPECT_TRUE(fiber::e2e::wait_until(
    [&] { return fs::exists(folder / "killed" / "checkpoint") || program.has_ended(); }));
  program.kill(SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  two.emplace_back("--resume");
  auto output = run(command("killed", two));
  EXPECT_NE(output.find("resumed after update "), std::string::npos) << output;
  expect_equal("killed", "whole");
}

TEST_F(PpoTest, learners_of_a_recurrent_policy_change_no_byte_when_one_dies) {
  const std::vector<std::string> two = {"--learners",   "2", "--lstm", "8",
                                        "--save-every", "3"};
  run(brief("whole", two));
  Program program(brief("killed", two));
  EXPECT_TRUE(fiber::e2e::wait_until(
    [&] { return fs::exists(folder / "killed" / "checkpoint") || program.has_ended(); }));
  const auto learners = fiber::e2e::jobs(mark);
  ASSERT_EQ(learners.size(), 2U);
  ::kill(learners[1], SIGKILL);
  const auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_TRUE(read(folder / "killed" / "policy") == read(folder / "whole" / "policy"));
}

TEST_F(PpoTest, bad_numbers_of_learners_are_named) {
  auto output = run(brief("bad", {"--learners", "3"}), 1);
  EXPECT_NE(output.find("envs must be a multiple of learners, 3, not 8"),
            std::string::npos)
    << output;
  output = run(brief("bad", {"--learners", "0"}), 1);
  EXPECT_NE(output.find("learners must be at least 1"), std::string::npos) << output;
  output = run(brief("bad", {"--learners", "2", "--jobs", "2"}), 108);
  EXPECT_NE(output.find("--jobs"), std::string::npos) << output;
}
#endif

TEST_F(PpoTest, a_run_ends_when_the_return_is_high_enough) {
  auto output = run(command("until", {"--env", "cartpole", "--seed", "1", "--until", "50",
                                      "--eval-episodes", "5"}));
  EXPECT_GE(mean_return(output), 40) << output;
  std::istringstream lines(curve(folder / "until"));
  std::string line;
  std::size_t count = 0;
  while (std::getline(lines, line))
    ++count;
  EXPECT_LT(count, 60U) << output; // Of nearly 400 updates.
}

TEST_F(PpoTest, a_run_whose_return_is_high_enough_at_once_plays_an_update) {
  run(command("until", {"--env", "pendulum", "--seed", "1", "--until", "-100000",
                        "--eval-episodes", "1"}));
  auto rows = curve(folder / "until");
  EXPECT_GE(std::ranges::count(rows, '\n'), 2) << rows; // The names and a row.
}

TEST_F(PpoTest, fresh_episodes_are_played_every_so_many_steps) {
  auto output =
    run(command("every", {"--env", "cartpole", "--seed", "1", "--steps", "10240",
                          "--eval-every", "5000", "--eval-episodes", "3"}));
  auto rows = read(folder / "every" / "curve.csv");
  EXPECT_NE(rows.find(",eval/return\n"), std::string::npos) << rows;
  std::map<std::string, std::string> evaluations; // By step.
  std::istringstream lines(rows);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line))
    if (!line.ends_with(','))
      evaluations[line.substr(0, line.find(','))] = line.substr(line.rfind(',') + 1);
  ASSERT_EQ(evaluations.size(), 2U) << rows;
  for (const auto* step : {"5120", "10240"}) {
    ASSERT_EQ(evaluations.count(step), 1U) << rows;
    EXPECT_GE(fiber::test::number_of(evaluations[step]), 8)
      << rows; // No episode is shorter.
    EXPECT_NE(output.find("after " + std::string(step) + " steps: mean return"),
              std::string::npos)
      << output;
  }
}

TEST_F(PpoTest, a_run_ends_when_the_return_of_fresh_episodes_is_high_enough) {
  run(command("until", {"--env", "cartpole", "--seed", "1", "--until", "150",
                        "--eval-every", "512", "--eval-episodes", "5"}));
  auto rows = read(folder / "until" / "curve.csv");
  auto last = rows.substr(0, rows.size() - 1);
  EXPECT_GE(fiber::test::number_of(last.substr(last.rfind(',') + 1)), 150) << rows;
  EXPECT_LT(std::ranges::count(rows, '\n'), 300) << rows; // Of nearly 400 updates.
}

TEST_F(PpoTest, ctrl_c_saves_a_checkpoint_to_go_on_from) {
  std::vector<std::string> endless = {"--env",   "cartpole",  "--jobs",       "2",
                                      "--steps", "100000000", "--save-every", "1"};
  Program program(command("stopped", endless));
  EXPECT_TRUE(fiber::e2e::wait_until([&] {
    return fs::exists(folder / "stopped" / "checkpoint") || program.has_ended();
  }));
  program.kill(SIGINT);
  auto output = program.rest();
  EXPECT_EQ(program.wait(), 130) << output;
  EXPECT_NE(output.find("interrupted; --resume continues from"), std::string::npos)
    << output;
  EXPECT_TRUE(fiber::e2e::wait_until([&] { return fiber::e2e::marked(mark).empty(); }));
}

TEST_F(PpoTest, actors_and_a_learner_that_wait_for_nobody_learn) {
  auto output = run(asynchronous("actors", "3"));
  EXPECT_GE(best_return(output), 195) << output;
  EXPECT_NE(output.find("3 actors, 0 times lost"), std::string::npos) << output;
}

TEST_F(PpoTest, actors_that_are_killed_are_replaced) {
  Program program(asynchronous("killed", "3", {"--save-every", "20"}));
  EXPECT_TRUE(fiber::e2e::wait_until(
    [&] { return fs::exists(folder / "killed" / "checkpoint") || program.has_ended(); }));
  auto jobs = fiber::e2e::jobs(mark);
  ASSERT_EQ(jobs.size(), 4U); // The actors, and the board with the newest policy.
  for (auto job : jobs)
    ::kill(job, SIGKILL);
  auto output = program.rest();
  EXPECT_EQ(program.wait(), 0) << output;
  EXPECT_GE(best_return(output), 195) << output;
  EXPECT_NE(output.find("3 actors, 4 times lost and replaced"), std::string::npos)
    << output;
}

TEST_F(PpoTest, an_asynchronous_run_goes_on_from_its_checkpoint) {
  Program program(asynchronous("on", "3", {"--save-every", "20"}));
  EXPECT_TRUE(fiber::e2e::wait_until(
    [&] { return fs::exists(folder / "on" / "checkpoint") || program.has_ended(); }));
  program.kill(SIGKILL);
  program.wait();
  auto output = run(asynchronous("on", "2", {"--resume"}));
  EXPECT_NE(output.find("resumed after update "), std::string::npos) << output;
  EXPECT_GE(best_return(output), 195) << output;
  // Rows of the curve are in order, none twice.
  std::istringstream lines(curve(folder / "on"));
  std::string line;
  std::getline(lines, line);
  std::uint64_t steps = 0;
  for (; std::getline(lines, line); steps = std::stoull(line))
    EXPECT_GT(std::stoull(line), steps);
  output = run(command("on", {"--resume"}), 1);
  EXPECT_NE(output.find("is not a fiber-ppo-checkpoint file"), std::string::npos)
    << output;
}

TEST_F(PpoTest, bad_options_of_asynchronous_runs_are_named) {
  auto recurrent = run(brief("bad", {"--asynchronous", "--lstm", "8"}), 1);
  EXPECT_NE(recurrent.find("lstm must be 0, not 8; use jobs or learners"),
            std::string::npos)
    << recurrent;
  auto output = run(brief("bad", {"--asynchronous", "--actors", "9"}), 1);
  EXPECT_NE(output.find("actors must be at most the number of environments, 8, not 9"),
            std::string::npos)
    << output;
  output = run(brief("bad", {"--asynchronous", "--actors", "0"}), 1);
  EXPECT_NE(output.find("--actors must be at least 1"), std::string::npos) << output;
  // Exit codes of CLI11.
  output = run(brief("bad", {"--actors", "2"}), 107);
  EXPECT_NE(output.find("--actors requires --asynchronous"), std::string::npos) << output;
  output = run(brief("bad", {"--asynchronous", "--jobs", "2"}), 108);
  EXPECT_NE(output.find("--jobs"), std::string::npos) << output;
}

TEST_F(PpoTest, bad_input_gets_an_error_that_says_what_is_wrong) {
  auto output = run(command("bad", {"--env", "cartpol"}), 1);
  EXPECT_NE(output.find("cartpole"), std::string::npos) << output;
  output = run(brief("bad", {"--gamma", "2"}), 1);
  EXPECT_NE(output.find("gamma must be"), std::string::npos) << output;
  run(brief("other"));
  output = run(brief("other", {"--resume", "--envs", "4"}), 1);
  EXPECT_NE(output.find("settings"), std::string::npos) << output;
}

TEST_F(PpoTest, a_saved_policy_plays_into_pictures) {
  run(brief("played"));
  auto policy = (folder / "played" / "policy").string();
  auto gif = (folder / "play.gif").string(), png = (folder / "play.png").string();
  auto output = run({PLAY, policy, "--gif", gif, "--png", png, "--steps", "20"});
  EXPECT_TRUE(output.starts_with("cartpole, episode 1: return ")) << output;
  EXPECT_TRUE(read(gif).starts_with("GIF89a"));
  EXPECT_TRUE(read(png).starts_with("\x89PNG"));
  output = run({PLAY, (folder / "played" / "curve.csv").string()}, 1);
  EXPECT_TRUE(output.starts_with("play: ")) << output;
}

} // namespace
