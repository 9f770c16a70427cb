// SPDX-License-Identifier: Apache-2.0
// A run learns, invents environments, moves agents between them, and is the same to the
// last bit however it is played and wherever it was interrupted.

#include "rl/poet/poet.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <gtest/gtest.h>

#include "fiber/rl/evolution.hpp"
#include "rl/poet/report.hpp"
#include "rl/poet/search.hpp"

namespace fiber::rl::poet {
namespace {

/// A world of formulas in place of a walker: the closer the first two parameters are to
/// what the terrain asks for, the better.
class Formula final : public Evaluator {
public:
  explicit Formula(std::span<const float> noise) : noise_(noise) {}

  static double score(const Job& job, std::span<const float> parameters) {
    const auto wanted = 0.1 * job.terrain.roughness;
    return 260 - 400 * std::abs(parameters[0] - wanted) -
           200 * std::abs(parameters[1] - job.terrain.pit_width.most);
  }

  Later<std::vector<Trial>> try_directions(Job job,
                                           std::vector<std::uint64_t> offsets) override {
    return [this, job, offsets] {
      std::vector<Trial> trials;
      for (const auto offset : offsets) {
        const auto at = [&](float step) {
          return score(job, perturbed(job.generation.parameters, noise_, offset, step));
        };
        Trial trial;
        trial.result.returns = {.plus = at(job.generation.sigma),
                                .minus = at(-job.generation.sigma)};
        trial.steps = 2;
        trials.push_back(trial);
      }
      return trials;
    };
  }
  Later<std::vector<Played>> play(Job job, std::uint64_t count) override {
    return [job, count] {
      return std::vector<Played>(
        count, {.result = score(job, job.generation.parameters), .steps = 1});
    };
  }

private:
  std::span<const float> noise_;
};

PoetOptions small() {
  PoetOptions options;
  options.seed = 3;
  options.hidden = {};
  options.table_size = 1 << 12;
  options.iterations = 40;
  options.directions = 20;
  options.evaluations = 1;
  options.transfer_every = 3;
  options.mutate_every = 5;
  options.reproduce_at = 150;
  options.max_environments = 4;
  return options;
}

std::string bytes_of(const PoetState& state) {
  std::ostringstream out(std::ios::binary);
  boost::archive::binary_oarchive archive(out);
  archive << state;
  return out.str();
}

PoetState copy_of(const std::string& bytes) {
  std::istringstream in(bytes, std::ios::binary);
  boost::archive::binary_iarchive archive(in);
  PoetState state;
  archive >> state;
  return state;
}

std::size_t count(const PoetState& state, Event::What what) {
  std::size_t number = 0;
  for (const auto& event : state.events)
    number += event.what == what ? 1 : 0;
  return number;
}

/// A run in the world of formulas.
struct PoetTest : testing::Test {
  std::vector<float> noise = make_noise_table(1 << 12, 3);
  Formula world{noise};

  PoetState run(const PoetOptions& options) {
    Poet poet(options, noise);
    while (!poet.finished())
      poet.step(world);
    return poet.state();
  }
};

TEST_F(PoetTest, environments_are_admitted_and_the_oldest_retired) {
  const auto state = run(small());
  EXPECT_EQ(state.pairs.size(), 4u);
  const auto admitted = count(state, Event::What::admitted);
  EXPECT_GT(admitted, 3u);
  EXPECT_EQ(count(state, Event::What::retired), admitted + 1 - 4);
  EXPECT_EQ(state.archive.size(), admitted + 1) << "the archive keeps the retired ones";
  EXPECT_EQ(state.pairs.back().niche.id, admitted + 1);
  std::set<std::uint64_t> rounds;
  for (const auto& event : state.events)
    if (event.what == Event::What::admitted) {
      EXPECT_TRUE(rounds.insert(event.iteration).second) << "one a round";
      EXPECT_EQ(event.iteration % 5, 0u);
      EXPECT_GE(event.before, 50);
      EXPECT_LE(event.before, 300);
      EXPECT_GE(event.after, event.before) << "the best of all agents came";
      EXPECT_LE(event.after, 300);
    }
}

TEST_F(PoetTest, a_criterion_that_nobody_meets_admits_nobody) {
  auto options = small();
  options.min_return = 280;
  EXPECT_EQ(run(options).pairs.size(), 1u);
  options = small();
  options.reproduce_at = 1000;
  EXPECT_EQ(run(options).pairs.size(), 1u);
}

TEST_F(PoetTest, an_agent_that_is_better_elsewhere_goes_there) {
  const auto state = run(small());
  ASSERT_GT(count(state, Event::What::transfer), 0u);
  EXPECT_GT(state.direct.tried, 0u);
  EXPECT_EQ(state.direct.tried, state.proposals.tried);
  EXPECT_EQ(state.direct.succeeded + state.proposals.succeeded,
            count(state, Event::What::transfer));
  for (const auto& event : state.events)
    if (event.what == Event::What::transfer) {
      EXPECT_GT(event.after, event.before);
      EXPECT_NE(event.agent, event.environment);
      EXPECT_EQ(event.iteration % 3, 0u);
    }
}

TEST_F(PoetTest, a_misplaced_agent_is_replaced_by_that_of_the_same_terrain) {
  auto options = small();
  options.proposals = false;
  options.mutate_every = 1000;
  options.iterations = 20;
  auto state = run(options); // One pair, which has learned its terrain.
  auto twin = state.pairs[0];
  twin.niche.id = 2;
  twin.agent.search.parameters[0] = 9;
  state.pairs.push_back(twin);
  state.archive.push_back(twin.niche.parameters);
  state.iteration = 21; // A round of transfers is due.
  Poet poet(options, noise, state);
  poet.step(world);
  const auto& after = poet.state();
  ASSERT_EQ(after.events.back().what, Event::What::transfer);
  EXPECT_EQ(after.events.back().environment, 2u);
  EXPECT_EQ(after.events.back().agent, 1u);
  EXPECT_EQ(after.events.back().way, Way::direct);
  EXPECT_EQ(after.pairs[1].agent.search.parameters,
            after.pairs[0].agent.search.parameters);
  EXPECT_EQ(after.pairs[1].score, after.pairs[0].score);
}

TEST_F(PoetTest, a_saved_run_goes_on_to_the_same_end) {
  const auto options = small();
  const auto undisturbed = bytes_of(run(options));
  Poet first(options, noise);
  for (int i = 0; i < 17; ++i)
    first.step(world);
  Poet second(options, noise, copy_of(bytes_of(first.state())));
  while (!second.finished())
    second.step(world);
  EXPECT_EQ(bytes_of(second.state()), undisturbed);
  auto other = options;
  other.seed = 4;
  EXPECT_NE(bytes_of(run(other)), undisturbed);
}

TEST_F(PoetTest, an_iteration_that_fails_changes_nothing) {
  struct Broken final : Evaluator {
    Later<std::vector<Trial>> try_directions(Job, std::vector<std::uint64_t>) override {
      return []() -> std::vector<Trial> { throw std::runtime_error("broken"); };
    }
    Later<std::vector<Played>> play(Job, std::uint64_t) override { return {}; }
  } broken;
  Poet poet(small(), noise);
  poet.step(world);
  const auto before = bytes_of(poet.state());
  EXPECT_THROW(poet.step(broken), std::runtime_error);
  EXPECT_EQ(bytes_of(poet.state()), before);
}

TEST_F(PoetTest, sigma_and_learning_rate_decay_to_their_least_values) {
  const PoetOptions options;
  EXPECT_FLOAT_EQ(search_options(options, 0).sigma, 0.1f);
  EXPECT_FLOAT_EQ(search_options(options, 100).sigma,
                  static_cast<float>(0.1 * std::pow(0.999, 100)));
  EXPECT_FLOAT_EQ(search_options(options, 1'000'000).sigma, 0.01f);
  EXPECT_DOUBLE_EQ(search_options(options, 1'000'000).learning_rate, 0.001);
}

TEST_F(PoetTest, wrong_options_and_states_are_refused) {
  auto options = small();
  options.min_return = 400;
  EXPECT_THROW(Poet(options, noise), std::invalid_argument);
  options = small();
  options.admitted = 5;
  EXPECT_THROW(Poet(options, noise), std::invalid_argument);
  options = small();
  auto state = Poet(options, noise).state();
  state.pairs[0].agent.search.parameters.push_back(0);
  EXPECT_THROW(Poet(options, noise, state), std::invalid_argument);
}

TEST_F(PoetTest, the_tables_list_what_happened) {
  const auto state = run(small());
  const auto events = events_csv(state);
  EXPECT_TRUE(events.starts_with("iteration,event,environment,parent,agent_from,way,"));
  EXPECT_EQ(std::ranges::count(events, '\n'),
            static_cast<std::ptrdiff_t>(state.events.size() + 1));
  EXPECT_NE(events.find("\n0,start,1,,,,,,0,"), std::string::npos) << events;
  EXPECT_EQ(std::ranges::count(returns_csv(state), '\n'),
            static_cast<std::ptrdiff_t>(state.curve.size() + 1));
  EXPECT_NE(pairs_table(state).find("E" + std::to_string(state.pairs[0].niche.id)),
            std::string::npos);
  const auto table = transfers_table(state, 2);
  EXPECT_NE(table.find("earlier ones are in events.csv"), std::string::npos) << table;
  EXPECT_NE(table.find(" direct, "), std::string::npos) << table;
}

// With the walker itself: short episodes, so that it learns within a second to stand and
// to lean forwards.
TEST(PoetWalkerTest, the_first_agent_learns_and_an_environment_is_admitted) {
  auto options = small();
  options.iterations = 13;
  options.directions = 16;
  options.evaluations = 3;
  options.max_steps = 100;
  options.learning_rate = 0.05;
  options.transfer_every = 100;
  options.mutate_every = 12;
  options.reproduce_at = -1000;
  options.min_return = -100;
  options.children = 2;
  const auto noise = make_noise_table(options.table_size, options.seed);
  InlineEvaluator walker(noise);
  Poet poet(options, noise);
  while (!poet.finished())
    poet.step(walker);
  const auto& state = poet.state();
  EXPECT_GE(count(state, Event::What::admitted), 1u);
  const auto mean = [&](std::size_t first) { // Of three iterations of E1.
    return (state.curve[first].score + state.curve[first + 1].score +
            state.curve[first + 2].score) /
           3;
  };
  EXPECT_GT(mean(9), mean(0) + 20);
  EXPECT_GT(state.pairs[0].agent.observations.count(), 100u);
  EXPECT_GT(state.steps, 1000u);
}

} // namespace
} // namespace fiber::rl::poet
