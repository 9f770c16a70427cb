// SPDX-License-Identifier: Apache-2.0
// The promise: the learner of examples/rl learns, and the same from the same.
#include "actor_critic.hpp"

#include <deque>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <gtest/gtest.h>

namespace actor_critic {
namespace {

double mean_return(const Parameters& parameters, int episodes) {
  double sum = 0;
  for (int i = 0; i < episodes; ++i)
    sum += evaluate(parameters, 7, static_cast<std::uint64_t>(i));
  return sum / episodes;
}

void train(Learner& learner, std::vector<Player>& players, std::uint64_t updates) {
  for (std::uint64_t i = 0; i < updates; ++i) {
    std::vector<Trajectory> batch;
    for (auto& player : players)
      batch.push_back(player.play(learner.parameters.policy, 256));
    learner.update(batch, {},
                   1 - 0.9 * static_cast<double>(i) / static_cast<double>(updates));
  }
}

std::vector<Player> players(std::uint64_t seed) {
  std::vector<Player> all;
  for (std::uint64_t i = 0; i < 8; ++i)
    all.emplace_back(seed, i);
  return all;
}

/// Of a policy that draws its actions. The likelier action alone may do well by luck.
double mean_return_of_play(const Parameters& parameters) {
  auto returns = Player(7, 1000).play(parameters.policy, 5000).returns;
  return std::accumulate(returns.begin(), returns.end(), 0.0) /
         static_cast<double>(returns.size());
}

TEST(ActorCritic, learns_to_keep_the_pole_up) {
  Learner learner(3);
  auto who = players(3);
  EXPECT_LT(mean_return_of_play(learner.parameters), 50);
  train(learner, who, 120);
  EXPECT_GT(mean_return_of_play(learner.parameters), 300);
  EXPECT_GE(mean_return(learner.parameters, 20), 475);
}

TEST(ActorCritic, learns_from_what_older_policies_did) {
  Learner learner(3);
  auto who = players(3);
  constexpr std::size_t age = 4; // Updates between playing and learning.
  std::deque<std::vector<Trajectory>> waiting;
  for (std::uint64_t i = 0; i < 150; ++i) {
    waiting.emplace_back();
    for (auto& player : who)
      waiting.back().push_back(player.play(learner.parameters.policy, 256));
    if (waiting.size() > age) {
      learner.update(waiting.front(), {}, 1 - 0.9 * static_cast<double>(i) / 150);
      waiting.pop_front();
    }
  }
  EXPECT_GE(mean_return(learner.parameters, 20), 475);
}

TEST(ActorCritic, refuses_trajectories_of_different_lengths) {
  Learner learner(1);
  auto who = players(1);
  const auto& policy = learner.parameters.policy;
  EXPECT_THROW(learner.update({who[0].play(policy, 4), who[1].play(policy, 5)}, {}, 1),
               std::invalid_argument);
}

TEST(ActorCritic, learns_the_same_from_the_same) {
  Learner one(1), other(1);
  auto first = players(1), second = players(1);
  train(one, first, 3);
  train(other, second, 3);
  EXPECT_EQ(one.parameters.policy, other.parameters.policy);
  EXPECT_EQ(one.parameters.critic, other.parameters.critic);
  EXPECT_NE(one.parameters.policy, Learner(1).parameters.policy);
}

TEST(ActorCritic, goes_on_from_what_was_saved) {
  Learner learner(1);
  auto who = players(1);
  train(learner, who, 2);
  std::stringstream bytes;
  boost::archive::binary_oarchive(bytes) << learner;
  Learner read;
  boost::archive::binary_iarchive(bytes) >> read;
  auto same = who;
  train(learner, who, 2);
  train(read, same, 2);
  EXPECT_EQ(learner.parameters.policy, read.parameters.policy);
}

TEST(ActorCritic, says_which_episodes_ended) {
  Player player(1, 0);
  auto trajectory = player.play(Parameters::initial(1).policy, 500);
  ASSERT_EQ(trajectory.steps.size(), 500U);
  float sum = 0;
  std::size_t ended = 0;
  for (auto& step : trajectory.steps) {
    sum += step.reward;
    if (step.terminated == 1 || step.truncated == 1) {
      ASSERT_LT(ended, trajectory.returns.size());
      EXPECT_EQ(trajectory.returns[ended++], sum);
      sum = 0;
    }
  }
  EXPECT_EQ(ended, trajectory.returns.size());
  EXPECT_GT(ended, 0U);
}

} // namespace
} // namespace actor_critic
