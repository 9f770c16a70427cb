// SPDX-License-Identifier: Apache-2.0
// Promise: a member that learns by PPO does the same with the same state, wherever the
// state has been, and each hyper-parameter counts.
#include "fiber/rl/ppo_problem.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/environments.hpp"
#include "rl/ppo/peers.hpp"

namespace {

using fiber::rl::Hyperparameters;
using fiber::rl::PpoProblem;

const Hyperparameters usual = {1e-3, 1e-3, 0.2};

/// Acrobot normalises observations and rewards, CartPole nothing.
class PpoProblemTest : public testing::TestWithParam<std::string> {
protected:
  const PpoProblem problem{
    .environment = GetParam(), .seed = 3, .steps = 1024, .evaluations = 3};
};

struct Outcome {
  PpoProblem::State state;
  double score;
  fiber::Bytes bytes() const { return fiber::rl::ppo::packed(state); }
};

Outcome trained(const PpoProblem& problem, PpoProblem::State state, std::uint64_t round,
                const Hyperparameters& values = usual, std::uint64_t member = 1) {
  const double score = problem.train(state, values, member, round);
  return {std::move(state), score};
}

TEST_P(PpoProblemTest, a_round_follows_from_the_state_and_the_arguments) {
  const auto start = problem.start(1);
  const auto once = trained(problem, start, 1), again = trained(problem, start, 1);
  EXPECT_EQ(once.bytes(), again.bytes());
  EXPECT_EQ(once.score, again.score);
  EXPECT_NE(once.bytes(), fiber::rl::ppo::packed(start));
  EXPECT_GT(once.state.learner.steps, 0u);
}

TEST_P(PpoProblemTest, a_state_that_has_travelled_goes_on_as_if_it_had_not) {
  auto whole = trained(problem, problem.start(1), 1);
  auto cut = fiber::rl::ppo::unpacked<PpoProblem::State>(whole.bytes());
  for (std::uint64_t round = 2; round <= 3; ++round) {
    whole = trained(problem, std::move(whole.state), round);
    const auto next = trained(problem, std::move(cut), round);
    EXPECT_EQ(whole.bytes(), next.bytes());
    EXPECT_EQ(whole.score, next.score);
    cut = fiber::rl::ppo::unpacked<PpoProblem::State>(next.bytes());
  }
}

TEST_P(PpoProblemTest, a_round_goes_on_from_every_part_of_the_state) {
  const auto first = trained(problem, problem.start(1), 1).state;
  const auto expected = trained(problem, first, 2);
  EXPECT_EQ(expected.state.learner.steps, 2 * first.learner.steps);
  auto expect_other = [&](const char* part, auto change) {
    auto changed = first;
    change(changed);
    EXPECT_NE(trained(problem, changed, 2).state.learner.parameters,
              expected.state.learner.parameters)
      << part;
  };
  auto halve = [](std::vector<float>& numbers) {
    for (float& number : numbers)
      number /= 2;
  };
  expect_other("networks", [&](auto& state) { halve(state.learner.parameters); });
  expect_other("first moments", [&](auto& state) { halve(state.learner.first_moments); });
  expect_other("second moments",
               [&](auto& state) { halve(state.learner.second_moments); });
  expect_other("steps of Adam", [](auto& state) { state.learner.steps = 0; });
  expect_other("updates", [](auto& state) { state.learner.updates = 0; });
  if (GetParam() != "acrobot")
    return;
  const auto fresh = problem.start(1);
  expect_other("observations",
               [&](auto& state) { state.observations = fresh.observations; });
  expect_other("rewards", [&](auto& state) { state.rewards = fresh.rewards; });
  EXPECT_EQ(expected.state.observations.moments().count(),
            2 * first.observations.moments().count());
}

TEST_P(PpoProblemTest, each_hyper_parameter_each_member_and_each_round_differs) {
  const auto start = problem.start(1);
  const auto once = trained(problem, start, 1).bytes();
  for (std::size_t i = 0; i < usual.size(); ++i) {
    auto other = usual;
    other[i] /= 4;
    EXPECT_NE(trained(problem, start, 1, other).bytes(), once)
      << PpoProblem::ranges()[i].name;
  }
  EXPECT_NE(trained(problem, start, 2).bytes(), once);
  EXPECT_NE(trained(problem, start, 1, usual, 2).bytes(), once);
  EXPECT_FALSE(problem.start(2) == start);
}

TEST_P(PpoProblemTest, the_saved_policy_is_the_one_that_is_judged) {
  const auto state = trained(problem, problem.start(1), 1).state;
  const auto policy = problem.saved(state);
  EXPECT_EQ(policy.observations.identity(), GetParam() == "cartpole");
  EXPECT_EQ(policy.parameters, state.learner.parameters);
  // Nothing else of the state counts.
  auto same_policy = problem.start(2);
  if (GetParam() == "cartpole") { // Acrobot has its least score so soon.
    EXPECT_NE(problem.judge(same_policy, 3), problem.judge(state, 3));
  }
  same_policy.learner.parameters = state.learner.parameters;
  same_policy.observations = state.observations;
  EXPECT_EQ(problem.judge(same_policy, 3), problem.judge(state, 3));
}

INSTANTIATE_TEST_SUITE_P(Environments, PpoProblemTest,
                         testing::Values("cartpole", "acrobot"),
                         [](const auto& info) { return info.param; });

TEST(PpoProblemRateTest, a_round_has_the_given_steps_and_evaluations) {
  const PpoProblem problem{
    .environment = "cartpole", .seed = 3, .steps = 1024, .evaluations = 3};
  auto longer = problem, more = problem;
  longer.steps *= 2;
  more.evaluations *= 2;
  const auto start = problem.start(1);
  const auto once = trained(problem, start, 1), twice = trained(more, start, 1);
  EXPECT_EQ(trained(longer, start, 1).state.learner.steps, 2 * once.state.learner.steps);
  EXPECT_EQ(twice.bytes(), once.bytes());
  EXPECT_NE(twice.score, once.score);
}

TEST(PpoProblemRateTest, a_policy_that_overflows_has_no_score) {
  const PpoProblem problem{.environment = "cartpole", .steps = 2048, .evaluations = 3};
  auto state = problem.start(1);
  for (float& number : state.learner.parameters)
    number = 1e38f;
  EXPECT_TRUE(std::isnan(problem.train(state, usual, 1, 1)));
}

/// Its third observation is not a number.
class BrokenSensor {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;

  void reset(std::uint64_t) { steps_ = 0; }
  fiber::rl::Step step(Action) { return {.reward = 1, .terminated = ++steps_ == 9}; }
  void observe(std::span<float> out) const {
    out[0] = steps_ == 3 ? std::numeric_limits<float>::quiet_NaN() : 1;
  }

private:
  int steps_ = 0;
};

TEST(PpoProblemRateTest, an_environment_with_a_nan_is_an_error_and_no_low_score) {
  fiber::rl::register_environment<BrokenSensor>("broken_sensor");
  const PpoProblem problem{
    .environment = "broken_sensor", .steps = 2048, .evaluations = 3};
  auto state = problem.start(1);
  try {
    problem.train(state, usual, 1, 1);
    FAIL();
  } catch (const std::domain_error& error) {
    EXPECT_NE(std::string(error.what()).find("environment 0, step 3"), std::string::npos)
      << error.what();
  }
}

TEST(PpoProblemRateTest, a_round_that_diverges_ends_with_networks_that_are_finite) {
  const PpoProblem problem{
    .environment = "cartpole", .seed = 3, .steps = 2048, .evaluations = 3};
  const auto wild = trained(problem, problem.start(1), 1, {1e30, 1e-3, 0.2});
  EXPECT_TRUE(std::isfinite(wild.score));
  for (float number : wild.state.learner.parameters)
    ASSERT_TRUE(std::isfinite(number));
  EXPECT_EQ(wild.state.learner.steps, 1u);
}

} // namespace
