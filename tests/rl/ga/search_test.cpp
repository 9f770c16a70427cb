// SPDX-License-Identifier: Apache-2.0
// Networks are lists of seeds: rebuilt the same anywhere, at the cost of one mutation;
// and a search with them learns, and is the same whenever it is run again.

#include "fiber/rl/genetic.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/pendulum.hpp"

namespace fiber::rl {
namespace {

PolicySpec cartpole_policy(std::vector<std::size_t> hidden = {8}) {
  return evolved_policy(spaces_of(CartPole()), std::move(hidden));
}

TEST(GenomeDecoderTest, a_network_is_its_first_parameters_and_all_mutations) {
  const auto spec = cartpole_policy();
  GenomeDecoder decoder(spec, 0.5f);
  EXPECT_EQ(decoder.decode({7}), initial_evolved_parameters(spec, 7));
  const auto child = decoder.decode({7, 1});
  EXPECT_NE(child, decoder.decode({7, 2}));
  EXPECT_EQ(decoder.decode_child({7}, 1), child);
  EXPECT_EQ(GenomeDecoder(spec, 0.5f).decode({7, 1}), child);
  EXPECT_NE(GenomeDecoder(spec, 0.25f).decode({7, 1}), child);
  EXPECT_THROW(decoder.decode({}), std::invalid_argument);
}

TEST(GenomeDecoderTest, a_mutation_is_normal_noise_of_deviation_sigma) {
  GenomeDecoder decoder(cartpole_policy({64, 64}), 0.1f);
  const auto before = decoder.decode({3});
  const auto after = decoder.decode({3, 4});
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double step = static_cast<double>(after[i] - before[i]);
    sum += step;
    squares += step * step;
  }
  const auto n = static_cast<double>(before.size());
  EXPECT_NEAR(sum / n, 0, 0.006);
  EXPECT_NEAR(squares / n, 0.01, 0.0008);
}

TEST(GenomeDecoderTest, what_is_kept_makes_a_child_cost_one_mutation) {
  Genome lineage;
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    lineage.push_back(seed);
  GenomeDecoder whole(cartpole_policy(), 0.1f), stepwise(cartpole_policy(), 0.1f);
  const auto expected = whole.decode(lineage);
  EXPECT_EQ(whole.mutations(), 49u);
  for (std::size_t length = 1; length <= lineage.size(); ++length) {
    const Genome genome(lineage.begin(), lineage.begin() + static_cast<long>(length));
    stepwise.forget_all_but({genome, {99}});
    const auto before = stepwise.mutations();
    stepwise.decode(genome);
    EXPECT_LE(stepwise.mutations() - before, 1u);
    EXPECT_LE(stepwise.kept(), 2u);
  }
  EXPECT_EQ(stepwise.decode(lineage), expected);
}

TEST(GenomeDecoderTest, an_ancestor_is_kept_until_its_descendant_is_built) {
  GenomeDecoder decoder(cartpole_policy(), 0.1f);
  decoder.decode({1, 2});
  decoder.decode({5});
  decoder.forget_all_but({{1, 2, 3, 4}});
  EXPECT_EQ(decoder.kept(), 1u);
  const auto before = decoder.mutations();
  decoder.decode({1, 2, 3, 4});
  EXPECT_EQ(decoder.mutations() - before, 2u);
}

/// So small a population that its first networks do not hold the pole by chance.
GeneticOptions short_cartpole() {
  auto options = genetic_options("cartpole");
  options.seed = 2;
  options.population = 12;
  options.parents = 3;
  options.elite_episodes = 10;
  options.evaluations = 20;
  options.generations = 25;
  options.hidden = {8};
  return options;
}

/// A run in this thread.
struct Evolving {
  explicit Evolving(const GeneticOptions& options, const GeneticState& state = {})
    : search(options, spaces_of(CartPole()), state) {}

  void steps(std::size_t n) {
    for (; n > 0 && !search.finished(); --n)
      search.step(serial_evaluator(worker));
  }
  void finish() { steps(std::numeric_limits<std::size_t>::max()); }
  const GeneticState& state() const { return search.state(); }

  GeneticWorker worker{erase<CartPole>()};
  GeneticSearch search;
};

TEST(GeneticSearchTest, a_short_run_learns_to_hold_the_pole) {
  Evolving run(short_cartpole());
  run.finish();
  EXPECT_LT(run.state().curve.front().policy_mean, 300);
  EXPECT_TRUE(run.state().solved);
  EXPECT_GE(run.state().confirmed_mean, 475);
  EXPECT_GT(run.state().generation, 1u);
  // The saved elite is what was judged.
  EvolvedPolicy policy(run.search.policy(), run.search.elite_parameters(), {});
  double total = 0;
  const auto environment = erase<CartPole>();
  for (std::uint64_t episode = 0; episode < 20; ++episode)
    total += rollout(*environment, policy, 1000 + episode);
  EXPECT_GE(total / 20, 450);
}

TEST(GeneticSearchTest, a_run_cut_anywhere_and_resumed_ends_as_one_that_was_not) {
  auto options = short_cartpole();
  options.solved_at = {};
  options.generations = 5;
  Evolving whole(options);
  whole.finish();
  ASSERT_EQ(whole.state().generation, 5u);
  for (std::size_t cut = 1; cut < 5; ++cut) {
    Evolving first(options);
    first.steps(cut);
    Evolving second(options, first.state());
    second.finish();
    EXPECT_EQ(second.state().parents, whole.state().parents);
    EXPECT_EQ(second.state().curve.back().policy_mean,
              whole.state().curve.back().policy_mean);
    EXPECT_EQ(second.state().curve.back().episodes, whole.state().curve.back().episodes);
  }
  options.seed = 3;
  Evolving other(options);
  other.finish();
  EXPECT_NE(other.state().parents, whole.state().parents);
}

/// Results that the test chooses, and the tasks that asked for them.
struct Script {
  std::function<double(const Brood&, Offspring, std::size_t)> fitness;
  std::function<double(const Brood&, Trial)> returns;

  GeneticEvaluator evaluator() const {
    return {.offspring =
              [this](const Brood& brood, const std::vector<Offspring>& children) {
                std::vector<double> values;
                for (std::size_t i = 0; i < children.size(); ++i)
                  values.push_back(fitness(brood, children[i], i));
                return values;
              },
            .trials =
              [this](const Brood& brood, const std::vector<Trial>& trials) {
                std::vector<double> values;
                for (auto each : trials)
                  values.push_back(returns(brood, each));
                return values;
              }};
  }
};

TEST(GeneticSearchTest, the_elite_is_who_is_best_over_more_episodes) {
  auto options = short_cartpole();
  options.solved_at = {};
  options.population = 40;
  options.parents = 8;
  options.elite_candidates = 5;
  GeneticSearch search(options, spaces_of(CartPole()));
  std::vector<Genome> candidates;
  Script script;
  script.fitness = [](const Brood&, Offspring, std::size_t i) {
    return static_cast<double>(i); // The last child is the luckiest.
  };
  script.returns = [&](const Brood& brood, Trial trial) {
    if (trial.purpose == Trial::Purpose::elite)
      candidates = brood.genomes;
    return trial.genome == 2 ? 100.0 : 50.0;
  };
  search.step(script.evaluator());
  ASSERT_EQ(candidates.size(), 5u);
  EXPECT_EQ(search.elite(), candidates[2]);
  EXPECT_EQ(search.state().parents.size(), 8u);
  EXPECT_EQ(search.state().parents[1], candidates[0]); // Next, by fitness.
  EXPECT_EQ(search.state().parents[2], candidates[1]);
  EXPECT_EQ(search.state().parents[3], candidates[3]);

  // It stays while nobody is better, and is a candidate again.
  const auto elite = search.elite();
  script.returns = [&](const Brood& brood, Trial trial) {
    if (trial.purpose == Trial::Purpose::elite)
      candidates = brood.genomes;
    return brood.genomes[trial.genome] == elite ? 100.0 : 50.0;
  };
  search.step(script.evaluator());
  EXPECT_EQ(candidates.back(), elite);
  EXPECT_EQ(search.elite(), elite);
  EXPECT_EQ(std::ranges::count(search.state().parents, elite), 1);
}

TEST(GeneticSearchTest, only_the_best_have_children_and_each_child_is_one_mutation_more) {
  auto options = short_cartpole();
  options.solved_at = {};
  GeneticSearch search(options, spaces_of(CartPole()));
  Script script;
  std::vector<bool> chosen(options.parents);
  std::set<std::uint64_t> seeds;
  script.fitness = [&](const Brood& brood, Offspring child, std::size_t i) {
    EXPECT_EQ(brood.genomes.size(), brood.generation == 0 ? 0 : options.parents);
    if (brood.generation > 0)
      chosen.at(child.parent) = true;
    seeds.insert(child.seed);
    return static_cast<double>(i);
  };
  script.returns = [](const Brood&, Trial) { return 1.0; };
  for (std::size_t generation = 1; generation <= 4; ++generation) {
    search.step(script.evaluator());
    for (const auto& parent : search.state().parents)
      EXPECT_LE(parent.size(), generation);
  }
  EXPECT_EQ(std::ranges::count(chosen, true), static_cast<long>(options.parents));
  EXPECT_EQ(seeds.size(), 4 * options.population);
}

TEST(GeneticSearchTest, an_evaluator_that_throws_leaves_everything_as_it_was) {
  Evolving run(short_cartpole());
  run.steps(1);
  const auto before = run.state().parents;
  auto evaluator = serial_evaluator(run.worker);
  evaluator.trials = [](const Brood&, const std::vector<Trial>&) -> std::vector<double> {
    throw std::runtime_error("gone");
  };
  EXPECT_THROW(run.search.step(evaluator), std::runtime_error);
  EXPECT_EQ(run.state().parents, before);
  EXPECT_EQ(run.state().generation, 1u);
}

TEST(GeneticSearchTest, refuses_what_it_cannot_use) {
  auto refused = [](auto change) {
    auto options = short_cartpole();
    change(options);
    EXPECT_THROW(GeneticSearch(options, spaces_of(CartPole())), std::invalid_argument);
  };
  refused([](auto& options) { options.population = 0; });
  refused([](auto& options) { options.parents = 41; });
  refused([](auto& options) { options.elite_candidates = 1; });
  refused([](auto& options) { options.sigma = 0; });
  EXPECT_THROW(GeneticSearch(short_cartpole(), spaces_of(CartPole())).elite(),
               std::logic_error);
  GeneticWorker worker(erase<Pendulum>());
  GeneticSearch search(short_cartpole(), spaces_of(CartPole()));
  EXPECT_THROW(search.step(serial_evaluator(worker)), std::invalid_argument);
}

TEST(GeneticSearchTest, settings_name_all_but_the_number_of_generations) {
  const auto options = short_cartpole();
  auto other = options;
  other.generations = 1;
  EXPECT_EQ(other.settings(), options.settings());
  other.sigma *= 2;
  EXPECT_NE(other.settings(), options.settings());
}

} // namespace
} // namespace fiber::rl
