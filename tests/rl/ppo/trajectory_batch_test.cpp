// SPDX-License-Identifier: Apache-2.0
// Promise: what an actor's player notes becomes what the learner learns from: corrected
// for the age of its policy and for nothing else, normalised as it was played.
#include "rl/ppo/trajectory_batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/advantages.hpp"
#include "fiber/rl/environments.hpp"
#include "rl/ppo/player.hpp"

namespace {

namespace ppo = fiber::rl::ppo;

/// Its second step shows what is no number.
struct Broken {
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  int steps = 0;

  void reset(std::uint64_t) { steps = 0; }
  fiber::rl::Step step(int) {
    ++steps;
    return {};
  }
  void observe(std::span<float> out) const {
    out[0] = steps < 2 ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
};

/// Three of five environments, and a learner of the policy that plays them.
struct Share {
  fiber::rl::PpoOptions settings;
  ppo::ActorOptions actor;
  ppo::Learner learner;

  explicit Share(const std::string& environment, std::size_t rollout = 64)
    : actor{.environment = environment,
            .spec = fiber::rl::default_policy(
              fiber::rl::make_environment(environment)->spaces()),
            .seed = 1,
            .first_env = 2,
            .envs = 3,
            .rollout = rollout},
      learner(actor.spec, fiber::rl::initial_parameters(actor.spec, 0), {}, 1) {
    settings.envs = 5;
    settings.rollout = rollout;
  }
  ppo::Trajectory play(std::uint64_t life = 0) const {
    return ppo::Player(actor, life).play();
  }
};

/// The targets of generalised advantage estimation.
std::vector<float> returns_of(const ppo::Trajectory& t, const Share& share) {
  auto values = share.learner.infer(t.observations).values;
  auto last_values = share.learner.infer(t.last_observations).values;
  std::vector<float> ends, final_values(t.rows()), advantages(t.rows()),
    returns(t.rows());
  if (!t.final_observations.empty())
    ends = share.learner.infer(t.final_observations).values;
  for (std::size_t i = 0, end = 0; i < t.rows(); ++i)
    if (t.cut_off(i))
      final_values[i] = ends.at(end++);
  fiber::rl::Rollout rollout{.steps = t.rows() / t.envs,
                             .envs = t.envs,
                             .rewards = t.rewards,
                             .values = values,
                             .last_values = last_values,
                             .final_values = final_values,
                             .terminated = t.terminated,
                             .truncated = t.truncated};
  fiber::rl::estimate_advantages(
    rollout, {.gamma = share.settings.gamma, .lambda = share.settings.lambda}, advantages,
    returns);
  return returns;
}

/// On the policy's own actions V-trace is generalised advantage estimation.
void expect_no_correction(const std::string& environment, std::size_t rollout) {
  Share share(environment, rollout);
  auto played = share.play();
  ASSERT_FALSE(played.returns.empty()) << "no episode has ended";
  ppo::TrajectoryBatch batch(share.settings, share.actor.spec);
  batch.add(played);
  auto samples = batch.samples(share.learner);
  auto returns = returns_of(played, share);
  ASSERT_EQ(samples.size(), 3 * rollout);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_NEAR(samples.log_probabilities[i], played.log_probabilities[i], 1e-4);
    EXPECT_NEAR(samples.returns[i], returns[i], 1e-3 * (1 + std::abs(returns[i])));
  }
}

TEST(TrajectoryBatchTest, the_present_policys_actions_need_no_correction) {
  expect_no_correction("cartpole", 64);  // Its episodes terminate.
  expect_no_correction("pendulum", 250); // Its episodes are cut off.
}

TEST(TrajectoryBatchTest, an_action_that_became_unlikely_counts_less) {
  Share share("cartpole");
  auto played = share.play();
  ppo::TrajectoryBatch batch(share.settings, share.actor.spec);
  batch.add(played);
  auto first = batch.samples(share.learner).advantages;
  std::vector<float> without(first.begin(), first.end());
  auto last = played.rows() - 1;
  played.log_probabilities[last] += std::log(4.0f); // It was four times as likely.
  batch.clear();
  batch.add(played);
  auto samples = batch.samples(share.learner);
  EXPECT_NEAR(samples.advantages[last], without[last] / 4,
              1e-4 * std::abs(without[last]));
}

TEST(TrajectoryBatchTest, trajectories_of_several_actors_are_kept_apart) {
  Share share("cartpole");
  ppo::TrajectoryBatch one(share.settings, share.actor.spec), both = one;
  auto second = share.play(1);
  one.add(second);
  both.add(share.play(0));
  both.add(second);
  auto alone = one.samples(share.learner), together = both.samples(share.learner);
  ASSERT_EQ(together.size(), 2 * alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i)
    EXPECT_NEAR(together.advantages[alone.size() + i], alone.advantages[i], 1e-4);
}

TEST(TrajectoryBatchTest, an_actor_that_replaces_another_begins_new_returns) {
  Share share("cartpole");
  share.settings.normalise_rewards = true;
  ppo::TrajectoryBatch batch(share.settings, share.actor.spec), fresh = batch;
  auto lost = share.play(0), next = share.play(1);
  // So that the returns of the lost one go on to its last row.
  std::fill(lost.terminated.begin(), lost.terminated.end(), std::uint8_t(0));
  batch.add(lost);
  auto before = batch.state().rewards.moments();
  batch.add(next);
  auto after = batch.state().rewards.moments();
  fresh.add(next);
  auto alone = fresh.state().rewards.moments();
  // What the second adds is what it has alone.
  auto sum = [](const auto& moments) {
    return moments.mean()[0] * static_cast<double>(moments.count());
  };
  EXPECT_EQ(after.count(), before.count() + alone.count());
  EXPECT_NEAR(sum(after) - sum(before), sum(alone), 1e-6 * sum(alone));
}

/// Throws at the tenth step of each episode.
struct Failing {
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  int steps = 0;

  void reset(std::uint64_t) { steps = 0; }
  fiber::rl::Step step(int) {
    if (++steps == 10)
      throw std::runtime_error("the simulator failed");
    return {.reward = 1};
  }
  void observe(std::span<float> out) const { out[0] = static_cast<float>(steps); }
};

const bool failing_actor_registered =
  (fiber::rl::register_environment<Failing>("failing_actor"), true);

TEST(TrajectoryBatchTest, rows_that_are_not_valid_are_counted_and_left_out) {
  Share share("failing_actor", 25);
  share.actor.on_error = fiber::rl::OnError::new_episode;
  share.settings.normalise_observations = share.settings.normalise_rewards = true;
  const auto played = share.play();
  EXPECT_EQ(std::ranges::count(played.valid, 0), 6); // Two in each of 3 environments.
  EXPECT_TRUE(played.returns.empty()) << "an episode that was lost has no return";
  ppo::TrajectoryBatch batch(share.settings, share.actor.spec);
  batch.add(played);
  EXPECT_EQ(batch.rows(), 75U);
  EXPECT_EQ(batch.state().observations.moments().count(), 69U);
  EXPECT_EQ(batch.failures().errors, 6U);
  EXPECT_EQ(batch.failures().first_error, "environment 0 failed: the simulator failed");
  const auto samples = batch.samples(share.learner);
  ASSERT_EQ(samples.size(), 69U);
  EXPECT_EQ(samples.observations.size(), 69U);
  // Row 9 of environment 0 was lost: what follows row 8 is the first of an episode.
  EXPECT_EQ(samples.observations[9 * 3], samples.observations[0]);
  EXPECT_NE(samples.observations[8 * 3], samples.observations[0]);
}

TEST(TrajectoryBatchTest, a_rollout_without_valid_rows_is_an_error_that_says_why) {
  Share share("failing_actor", 25);
  share.actor.on_error = fiber::rl::OnError::new_episode;
  auto played = share.play();
  std::ranges::fill(played.valid, std::uint8_t(0));
  ppo::TrajectoryBatch batch(share.settings, share.actor.spec);
  batch.add(played);
  try {
    batch.samples(share.learner);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "of the 75 rows of a rollout 0 are valid, and learning "
                               "needs 2; 6 errors of environments, the first: "
                               "environment 0 failed: the simulator failed");
  }
}

TEST(TrajectoryBatchTest, a_trajectory_of_other_sizes_is_refused) {
  Share share("cartpole");
  ppo::TrajectoryBatch batch(share.settings, share.actor.spec);
  auto played = share.play();
  played.first_env = 3; // There are 5 environments.
  EXPECT_THROW(batch.add(played), std::invalid_argument);
  played = share.play();
  played.actions.pop_back();
  EXPECT_THROW(batch.add(played), std::invalid_argument);
}

TEST(PlayerTest, a_life_repeats_and_two_lives_differ) {
  Share share("cartpole");
  auto first = share.play(0), again = share.play(0), other = share.play(1);
  EXPECT_EQ(first.observations, again.observations);
  EXPECT_EQ(first.actions, again.actions);
  EXPECT_NE(first.observations, other.observations);
}

TEST(PlayerTest, goes_on_where_the_trajectory_before_ended) {
  Share share("cartpole");
  ppo::Player player(share.actor, 0);
  auto first = player.play(), second = player.play();
  EXPECT_EQ(first.begins, std::vector<std::uint8_t>(3, 1));
  EXPECT_EQ(second.begins, std::vector<std::uint8_t>(3, 0));
  EXPECT_TRUE(std::equal(first.last_observations.begin(), first.last_observations.end(),
                         second.observations.begin()));
}

TEST(PlayerTest, goes_on_from_a_state_as_if_nothing_had_happened) {
  Share share("cartpole");
  ppo::Player player(share.actor, 0, {.saves = true});
  const auto before = player.state();
  const auto first = player.play();
  const auto state = player.state();
  const auto second = player.play();
  ppo::Player fresh(share.actor, 0, {.saves = true}),
    later(share.actor, 0, {.saves = true});
  fresh.go_on_from(before);
  EXPECT_EQ(fresh.play().observations, first.observations);
  later.go_on_from(state);
  const auto again = later.play();
  EXPECT_EQ(again.observations, second.observations);
  EXPECT_EQ(again.actions, second.actions);
  EXPECT_EQ(again.rewards, second.rewards);
  EXPECT_EQ(again.returns, second.returns);
  EXPECT_EQ(again.begins, second.begins);
}

TEST(PlayerTest, names_the_environment_that_shows_what_is_no_number) {
  fiber::rl::register_environment<Broken>("broken");
  Share share("broken");
  try {
    share.play();
    FAIL() << "nothing was thrown";
  } catch (const std::domain_error& error) {
    EXPECT_NE(std::string(error.what()).find("environment 2, step 2: component 0"),
              std::string::npos)
      << error.what();
  }
}

} // namespace
