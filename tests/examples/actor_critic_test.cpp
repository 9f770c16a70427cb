// SPDX-License-Identifier: Apache-2.0
// The promise: the learner of examples/rl learns, and the same from the same.
#include "actor_critic.hpp"

#include <deque>
#include <numeric>
#include <sstream>
#include <vector>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <gtest/gtest.h>

namespace actor_critic {
namespace {

std::vector<Player> players(std::uint64_t seed) {
  std::vector<Player> all;
  for (std::uint64_t i = 0; i < 8; ++i)
    all.emplace_back(seed, i);
  return all;
}

/// Each batch waits for `age` updates before the model learns from it.
void train(Model& model, std::vector<Player>& players, int batches, std::size_t age = 0) {
  std::deque<std::vector<Trajectory>> waiting;
  for (int i = 0; i < batches; ++i) {
    waiting.emplace_back();
    for (auto& player : players)
      waiting.back().push_back(player.play(model.policy, 256));
    if (waiting.size() > age) {
      model.update(waiting.front());
      waiting.pop_front();
    }
  }
}

/// Of a policy that draws its actions. The likelier action alone may do well by luck.
double mean_return_of_play(const Policy& policy) {
  auto returns = Player(7, 1000).play(policy, 5000).returns;
  return std::accumulate(returns.begin(), returns.end(), 0.0) /
         static_cast<double>(returns.size());
}

TEST(ActorCritic, learns_to_keep_the_pole_up) {
  Model model;
  auto who = players(3);
  EXPECT_LT(mean_return_of_play(model.policy), 50);
  train(model, who, 200);
  EXPECT_EQ(model.updates, 200U);
  EXPECT_GT(model.mean_return, 300);
  EXPECT_GT(mean_return_of_play(model.policy), 300);
  EXPECT_GE(evaluate(model.policy, 7, 20), 475);
}

TEST(ActorCritic, learns_from_what_older_policies_did) {
  Model model;
  auto who = players(3);
  train(model, who, 200, 4);
  EXPECT_GE(evaluate(model.policy, 7, 20), 475);
}

TEST(ActorCritic, learns_the_same_from_the_same) {
  Model one, other;
  auto first = players(1), second = players(1);
  train(one, first, 3);
  train(other, second, 3);
  EXPECT_EQ(one.policy, other.policy);
  EXPECT_EQ(one.critic, other.critic);
  EXPECT_NE(one.policy, Model().policy);
}

TEST(ActorCritic, continues_from_what_was_saved) {
  Model model;
  auto who = players(1);
  train(model, who, 2);
  std::stringstream bytes;
  boost::archive::binary_oarchive(bytes) << model;
  Model read;
  boost::archive::binary_iarchive(bytes) >> read;
  auto same = who;
  train(model, who, 2);
  train(read, same, 2);
  EXPECT_EQ(model.policy, read.policy);
  EXPECT_EQ(model.updates, read.updates);
}

TEST(ActorCritic, says_which_episodes_ended) {
  Player player(1, 0);
  auto played = player.play(Model().policy, 500);
  ASSERT_EQ(played.rewards.size(), 500U);
  ASSERT_EQ(played.seen.size(), 2000U);
  double sum = 0;
  std::size_t ended = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    sum += played.rewards[i];
    if (played.terminated[i] == 1 || played.truncated[i] == 1) {
      ASSERT_LT(ended, played.returns.size());
      EXPECT_EQ(played.returns[ended++], sum);
      sum = 0;
    }
  }
  EXPECT_EQ(ended, played.returns.size());
  EXPECT_GT(ended, 0U);
}

} // namespace
} // namespace actor_critic
