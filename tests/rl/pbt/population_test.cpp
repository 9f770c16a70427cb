// SPDX-License-Identifier: Apache-2.0
// A member whose job is killed goes on from its checkpoint, and the population ends as if
// nothing had happened.

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "fiber/error.hpp"
#include "fiber/rl/population.hpp"
#include "fiber/rl/random.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/e2e/support/notes.hpp"

namespace fiber::rl {
namespace {

/// A number that grows by what its hyper-parameter and a drawn number say.
struct Growth {
  struct State {
    double size = 0;
    std::uint64_t trained = 0; ///< Rounds that changed it.

    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& size& trained;
    }
  };

  State start(std::uint64_t member) const {
    return {.size = static_cast<double>(member)};
  }
  double train(State& state, const Hyperparameters& values, std::uint64_t member,
               std::uint64_t round) const {
    state.size += values[0] * Random(1, {member, round}).uniform();
    ++state.trained;
    if (round == failing_round && member == 0)
      throw std::runtime_error("the model is gone");
    return state.size;
  }

  std::uint64_t failing_round = 0;
};

PopulationOptions four() {
  PopulationOptions options;
  options.members = 4;
  options.ranges = {{"rate", 0.01, 1, true}};
  return options;
}

struct PopulationTest : e2e::SessionTest {
  PopulationTest() { open(); }
};

void expect_equal(const Population<Growth>::State& actual,
                  const Population<Growth>::State& expected) {
  EXPECT_EQ(actual.hyperparameters, expected.hyperparameters);
  ASSERT_EQ(actual.members.size(), expected.members.size());
  for (std::size_t i = 0; i < actual.members.size(); ++i) {
    EXPECT_EQ(actual.members[i].state.size, expected.members[i].state.size) << i;
    EXPECT_EQ(actual.members[i].state.trained, expected.members[i].state.trained) << i;
    EXPECT_EQ(actual.members[i].round, expected.members[i].round) << i;
  }
  ASSERT_EQ(actual.history.size(), expected.history.size());
  for (std::size_t i = 0; i < actual.history.size(); ++i) {
    EXPECT_EQ(actual.history[i].scores, expected.history[i].scores) << i;
    EXPECT_EQ(actual.history[i].sources, expected.history[i].sources) << i;
  }
}

Population<Growth>::State undisturbed(int rounds) {
  Population<Growth> population({}, four());
  for (int i = 0; i < rounds; ++i)
    population.step();
  EXPECT_EQ(population.restarts(), 0);
  return population.state();
}

TEST_F(PopulationTest, the_worst_have_the_state_of_the_best_after_a_round) {
  Population<Growth> population({}, four());
  const auto& round = population.step();
  const auto members = population.members();
  EXPECT_EQ(population.best(), highest(round.scores));
  int copies = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto source = round.sources[i];
    copies += source != i ? 1 : 0;
    EXPECT_EQ(members[i].state.size, round.scores[source]);
  }
  EXPECT_EQ(copies, 1);
  EXPECT_EQ(population.round(), 1u);
}

TEST_F(PopulationTest, ends_the_same_when_members_are_killed_between_and_in_rounds) {
  const auto expected = undisturbed(6);
  Population<Growth> population({}, four());
  for (int round = 0; round < 6; ++round) {
    // Gone before the next calls, or while they are under way.
    const auto pids = population.pids();
    ::kill(pids[static_cast<std::size_t>(round) % 4], SIGKILL);
    if (round == 3)
      for (int pid : pids)
        ::kill(pid, SIGKILL);
    population.step();
  }
  EXPECT_GE(population.restarts(), 6);
  expect_equal(population.state(), expected);
}

TEST_F(PopulationTest, goes_on_from_a_saved_state_as_if_nothing_had_happened) {
  const auto expected = undisturbed(5);
  Population<Growth> second({}, four(), undisturbed(2));
  EXPECT_EQ(second.round(), 2u);
  for (int i = 0; i < 3; ++i)
    second.step();
  expect_equal(second.state(), expected);
  auto options = four();
  options.members = 5;
  EXPECT_THROW(Population<Growth>({}, options, expected), std::invalid_argument);
}

TEST_F(PopulationTest, copies_are_made_in_intervals) {
  auto options = four();
  options.interval = 3;
  Population<Growth> population({}, options);
  for (int round = 1; round <= 6; ++round) {
    const auto sources = population.step().sources;
    const bool nobody = sources == std::vector<std::uint64_t>{0, 1, 2, 3};
    EXPECT_EQ(nobody, round % 3 != 0) << round;
  }
}

TEST_F(PopulationTest, an_exception_in_training_reaches_the_caller) {
  Population<Growth> population({.failing_round = 1}, four());
  EXPECT_THROW(population.step(), RemoteError);
}

/// As Growth, but member 1 hangs in round 2: once, or each time.
struct Sleepy : Growth {
  double train(State& state, const Hyperparameters& values, std::uint64_t member,
               std::uint64_t round) const {
    if (member == 1 && round == 2 && (always || e2e::note("hung", "") == 1))
      for (;;)
        ::pause();
    return Growth::train(state, values, member, round);
  }

  bool always = false;
};

TEST_F(PopulationTest, a_member_that_hangs_trains_the_round_again) {
  const auto expected = undisturbed(3);
  auto options = four();
  options.round_timeout = std::chrono::milliseconds(500);
  Population<Sleepy> population({}, options);
  for (int round = 0; round < 3; ++round)
    population.step();
  EXPECT_EQ(population.restarts(), 1);
  EXPECT_EQ(e2e::notes("hung").size(), 2U);
  const auto state = population.state();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(state.members[i].state.size, expected.members[i].state.size) << i;
}

TEST_F(PopulationTest, a_member_that_always_hangs_is_an_error_that_names_it) {
  auto options = four();
  options.round_timeout = std::chrono::milliseconds(100);
  Sleepy problem;
  problem.always = true;
  Population<Sleepy> population(problem, options);
  population.step();
  try {
    population.step();
    FAIL();
  } catch (const TimeoutError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("member 1 of a population has lost 10 jobs in round 2"))
      << text;
    EXPECT_NE(text.find("124"), std::string::npos) << text;
  }
}

TEST_F(PopulationTest, a_round_timeout_needs_jobs_that_can_be_ended) {
  auto options = four();
  options.round_timeout = std::chrono::milliseconds(0);
  EXPECT_THROW(options.check(), std::invalid_argument);
  close();
  open({.backend = "inline"});
  options.round_timeout = std::chrono::milliseconds(500);
  EXPECT_THROW(Population<Growth>({}, options), ConfigError);
}

TEST_F(PopulationTest, members_have_the_resources_of_the_options) {
  auto options = four();
  options.resources = {.cpu = 0.25}; // Four of them fit into a job.
  Population<Growth> population({}, options);
  population.step();
  const auto pids = population.pids();
  EXPECT_EQ(pids, std::vector<int>(4, pids[0]));
}

} // namespace
} // namespace fiber::rl
