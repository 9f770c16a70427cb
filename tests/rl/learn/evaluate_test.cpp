// SPDX-License-Identifier: Apache-2.0
// An evaluation plays fresh episodes that follow from its seed, in any split, and gives
// the sums of their rewards.

#include "fiber/rl/evaluate.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

// Rewards are the actions; an episode ends when the agent has acted `length` times.
class Mirror {
public:
  using Action = std::array<float, 1>;
  static constexpr Action action_low{-2}, action_high{2};
  static constexpr std::size_t observation_size = 1;

  explicit Mirror(int length) : length_(length) {}
  void reset(std::uint64_t) { steps_ = 0; }
  Step step(Action action) {
    return {.reward = action[0], .truncated = ++steps_ == length_};
  }
  void observe(std::span<float> out) const {
    out[0] =
      steps_ < 90 ? static_cast<float>(steps_) : std::numeric_limits<float>::quiet_NaN();
  }

private:
  int length_, steps_ = 0;
};

// Acts as it sees: the mean is the observation.
Policy copycat(const Spaces& spaces) {
  return {PolicySpec{.spaces = spaces, .hidden = {}}, std::vector<float>{0, 1, 0, 0, 0}};
}

Policy fresh_cartpole_policy() {
  const PolicySpec spec{.spaces = {.observation_shape = {4}, .actions = 2}};
  return {spec, initial_parameters(spec, 1)};
}

TEST(EvaluateTest, sums_rewards_of_actions_within_their_bounds) {
  auto mirror = erase<Mirror>(5);
  auto policy = copycat(mirror->spaces());
  const auto result = evaluate(*mirror, policy, {}, {.episodes = 3});
  EXPECT_EQ(result.returns, (std::vector<double>{7, 7, 7})); // 0 + 1 + 2 + 2 + 2.
  EXPECT_EQ(result.lengths, (std::vector<std::size_t>{5, 5, 5}));
}

TEST(EvaluateTest, normalises_what_the_policy_sees) {
  auto mirror = erase<Mirror>(2);
  auto policy = copycat(mirror->spaces());
  RunningMoments moments(1);
  moments.add(std::vector<float>{0, 2}); // Mean 1, variance 1.
  const FrozenNormaliser normaliser(moments, 10, 0);
  EXPECT_EQ(evaluate(*mirror, policy, normaliser, {.episodes = 1}).returns[0], -1);
}

TEST(EvaluateTest, ends_an_episode_that_would_not_end) {
  auto mirror = erase<Mirror>(-1);
  auto policy = copycat(mirror->spaces());
  const auto result = evaluate(*mirror, policy, {}, {.episodes = 1, .step_limit = 7});
  EXPECT_EQ(result.lengths[0], 7);
}

TEST(EvaluateTest, plays_the_same_episodes_in_one_call_and_in_two) {
  auto policy = fresh_cartpole_policy();
  for (bool deterministic : {true, false}) {
    EvaluationOptions options{.episodes = 6, .deterministic = deterministic, .seed = 3};
    const auto all = evaluate("cartpole", policy, {}, options);
    options.episodes = 3;
    auto parts = evaluate("cartpole", policy, {}, options);
    options.first = 3;
    const auto rest = evaluate("cartpole", policy, {}, options);
    parts.returns.insert(parts.returns.end(), rest.returns.begin(), rest.returns.end());
    EXPECT_EQ(parts.returns, all.returns);
    EXPECT_GT(std::set<double>(all.returns.begin(), all.returns.end()).size(), 1);
  }
}

TEST(EvaluateTest, draws_actions_if_it_shall) {
  auto mirror = erase<Mirror>(5);
  auto policy = copycat(mirror->spaces());
  const auto drawn =
    evaluate(*mirror, policy, {}, {.episodes = 2, .deterministic = false});
  EXPECT_NE(drawn.returns[0], 7);
  EXPECT_NE(drawn.returns[0], drawn.returns[1]);
}

TEST(EvaluateTest, has_seeds_that_training_does_not_use) {
  std::set<std::uint64_t> training;
  for (std::size_t id = 0; id < 100; ++id)
    for (std::uint64_t episode = 0; episode < 100; ++episode)
      training.insert(episode_seed(1, id, episode));
  for (std::size_t episode = 0; episode < 100; ++episode)
    EXPECT_FALSE(training.contains(evaluation_seed(1, episode)));
}

TEST(EvaluateTest, has_mean_and_deviation) {
  const Evaluation result{.returns = {1, 3}, .lengths = {1, 1}};
  EXPECT_EQ(result.mean_return(), 2);
  EXPECT_EQ(result.deviation(), 1);
  EXPECT_TRUE(std::isnan(Evaluation().mean_return()));
}

TEST(EvaluateTest, refuses_a_policy_for_another_environment) {
  auto policy = fresh_cartpole_policy();
  EXPECT_THROW(evaluate("pendulum", policy, {}), std::invalid_argument);
  EXPECT_THROW(evaluate("no_such_thing", policy, {}), std::invalid_argument);
}

TEST(EvaluateTest, an_error_names_episode_and_step_of_a_nan) {
  auto mirror = erase<Mirror>(100);
  auto policy = copycat(mirror->spaces());
  try {
    evaluate(*mirror, policy, {}, {.episodes = 2, .first = 4});
    FAIL();
  } catch (const std::domain_error& error) {
    EXPECT_TRUE(
      std::string(error.what()).starts_with("episode 4 of an evaluation, step 90: "))
      << error.what();
  }
}

TEST(EvaluateTest, an_output_that_is_not_finite_is_an_error_of_its_own) {
  auto mirror = erase<Mirror>(5);
  const PolicySpec spec{.spaces = mirror->spaces(), .hidden = {}};
  Policy policy(spec, std::vector<float>{0, 3e38f, 0, 0, 0});
  EXPECT_THROW(evaluate(*mirror, policy, {}, {.episodes = 1}), PolicyOverflow);
}

TEST(EvaluateTest, a_reward_that_is_not_finite_is_an_error) {
  struct Broken : Mirror {
    using Mirror::Mirror;
    Step step(Action action) {
      auto result = Mirror::step(action);
      result.reward = std::numeric_limits<double>::infinity();
      return result;
    }
  };
  auto broken = erase<Broken>(5);
  auto policy = copycat(broken->spaces());
  try {
    evaluate(*broken, policy, {}, {.episodes = 1});
    FAIL();
  } catch (const std::domain_error& error) {
    EXPECT_TRUE(std::string(error.what())
                  .starts_with("episode 0 of an evaluation, step 0: the reward is"))
      << error.what();
  }
}

} // namespace
} // namespace fiber::rl
