// SPDX-License-Identifier: Apache-2.0
// Which environments have children, which children are admitted, who is retired, and
// which agent comes to an environment.

#include "rl/poet/selection.hpp"

#include <gtest/gtest.h>

namespace fiber::rl::poet {
namespace {

Pair pair_of(std::uint64_t id, double score) {
  Pair pair;
  pair.niche.id = id;
  pair.niche.parameters.roughness = static_cast<double>(id) / 10;
  pair.score = score;
  pair.agent.search = {.iteration = 7,
                       .parameters = {static_cast<float>(id)},
                       .moment1 = {0.5},
                       .moment2 = {0.25}};
  return pair;
}

Child child_of(double roughness, double parents_score) {
  Child child;
  child.parameters.roughness = roughness;
  child.parents_score = parents_score;
  return child;
}

Candidate candidate(std::uint64_t from, Way way, double score) {
  return {.from = from, .way = way, .score = score, .agent = pair_of(from, 0).agent};
}

TEST(SelectionTest, the_minimal_criterion_is_neither_too_hard_nor_too_easy) {
  const PoetOptions options;
  EXPECT_FALSE(meets_criterion(options, 49.9));
  EXPECT_TRUE(meets_criterion(options, 50));
  EXPECT_TRUE(meets_criterion(options, 300));
  EXPECT_FALSE(meets_criterion(options, 300.1));
}

TEST(SelectionTest, pairs_with_a_good_score_are_parents) {
  const std::vector<Pair> pairs = {pair_of(1, 250), pair_of(2, 199), pair_of(3, 200)};
  EXPECT_EQ(parents({}, pairs), (std::vector<std::size_t>{0, 2}));
}

TEST(SelectionTest, children_are_new_and_follow_from_the_seed) {
  PoetOptions options;
  options.children = 200;
  PoetState state;
  state.iteration = 6;
  state.pairs = {pair_of(1, 250), pair_of(2, 250)};
  for (const auto& pair : state.pairs)
    state.archive.push_back(pair.niche.parameters);
  const std::vector<std::size_t> able = {0, 1};
  const auto children = make_children(options, state, able);
  EXPECT_GT(children.size(), 30u);
  std::size_t of_first = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    of_first += children[i].parent == 1 ? 1 : 0;
    EXPECT_NE(children[i].parameters, state.archive[0]);
    for (std::size_t j = 0; j < i; ++j)
      ASSERT_NE(children[i].parameters, children[j].parameters);
  }
  EXPECT_GT(of_first, 0u);
  EXPECT_LT(of_first, children.size());
  const auto again = make_children(options, state, able);
  ASSERT_EQ(again.size(), children.size());
  EXPECT_EQ(again.back().seed, children.back().seed);
  EXPECT_EQ(again.back().parameters, children.back().parameters);
  state.iteration = 12;
  EXPECT_NE(make_children(options, state, able).front().seed, children.front().seed);
}

TEST(SelectionTest, the_most_novel_of_the_children_that_meet_the_criterion_comes_first) {
  const std::vector<EnvironmentParameters> archive(1); // Flat.
  const auto order = ranked({},
                            {child_of(1, 100), child_of(5, 20), child_of(3, 100),
                             child_of(9, 310), child_of(2, 300)},
                            archive);
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[0].parameters.roughness, 3);
  EXPECT_EQ(order[1].parameters.roughness, 2);
  EXPECT_EQ(order[2].parameters.roughness, 1);
}

TEST(SelectionTest, a_transfer_takes_the_best_candidate_if_it_is_better) {
  const std::vector<Candidate> candidates = {candidate(2, Way::direct, 80),
                                             candidate(2, Way::proposal, 120),
                                             candidate(3, Way::direct, 120)};
  EXPECT_EQ(best({}), nullptr);
  const auto* winner = best(candidates);
  ASSERT_NE(winner, nullptr);
  EXPECT_EQ(winner->from, 2u);
  EXPECT_EQ(winner->way, Way::proposal) << "the first of equal ones";

  auto better = pair_of(1, 120);
  EXPECT_FALSE(replace_if_better(better, *winner, 50)) << "as good is not better";
  EXPECT_EQ(better.agent.search.parameters, std::vector<float>{1});
  EXPECT_EQ(better.agent.search.iteration, 7u);

  auto worse = pair_of(1, 119);
  EXPECT_TRUE(replace_if_better(worse, *winner, 50));
  EXPECT_EQ(worse.score, 120);
  EXPECT_EQ(worse.search_began, 50u);
  EXPECT_EQ(worse.agent.search.parameters, std::vector<float>{2});
  EXPECT_EQ(worse.agent.search.iteration, 0u) << "its search begins anew";
  EXPECT_EQ(worse.agent.search.moment1, std::vector<double>{0});
}

TEST(SelectionTest, the_oldest_are_retired) {
  std::vector<Pair> pairs = {pair_of(2, 0), pair_of(3, 0), pair_of(5, 0), pair_of(6, 0)};
  EXPECT_TRUE(retire(pairs, 4).empty());
  const auto gone = retire(pairs, 2);
  ASSERT_EQ(gone.size(), 2u);
  EXPECT_EQ(gone[0].niche.id, 2u);
  EXPECT_EQ(gone[1].niche.id, 3u);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].niche.id, 5u);
}

} // namespace
} // namespace fiber::rl::poet
