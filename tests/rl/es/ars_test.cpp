// SPDX-License-Identifier: Apache-2.0
// Evolution with the options of augmented random search moves as the paper says.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/evolution_training.hpp"

namespace fiber::rl {
namespace {
namespace ars_of_paper {

using Line = std::vector<double>;

/// The lines of record_ars.py by their names.
std::map<std::string, std::vector<Line>> recording() {
  std::map<std::string, std::vector<Line>> lines;
  std::ifstream file(FIBER_ARS_RECORDING);
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string name;
    words >> name;
    auto& line = lines[name].emplace_back();
    for (std::string word; words >> word;)
      line.push_back(std::strtod(word.c_str(), nullptr));
  }
  return lines;
}

std::vector<float> floats(const Line& line) {
  return {line.begin(), line.end()};
}

EvolutionOptions ars(std::size_t directions, std::size_t top, double step) {
  return {.directions = directions,
          .learning_rate = step,
          .optimiser = Optimiser::sgd,
          .top = top,
          .normalise_by_deviation = true};
}

/// Two numbers that are far from 0 and of different sizes; an episode has 1 to 3 steps,
/// each with a reward of 1.
struct Counted {
  using Action = std::array<float, 1>;
  static constexpr std::size_t observation_size = 2;
  static constexpr Action action_low = {-1}, action_high = {1};

  void reset(std::uint64_t seed) { left = 1 + static_cast<int>(seed % 3); }
  Step step(Action) { return {.reward = 1, .terminated = --left == 0}; }
  void observe(std::span<float> out) const {
    out[0] = 1000 + static_cast<float>(left);
    out[1] = 0.001F * static_cast<float>(left);
  }

  int left = 0;
};

TEST(ArsUpdateTest, is_that_of_the_paper_with_all_and_with_the_best_directions) {
  auto lines = recording();
  const auto noise = floats(lines["noise"].at(0));
  ASSERT_EQ(lines["run"].size(), 3U);
  for (std::size_t run = 0; run < 3; ++run) {
    const auto& plus = lines["plus"][run];
    const auto& minus = lines["minus"][run];
    const auto top = static_cast<std::size_t>(lines["run"][run][0]);
    // All directions count with 0 as well.
    const auto options =
      ars(plus.size(), top == plus.size() ? 0 : top, lines["run"][run][1]);
    Evolution search(floats(lines["parameters"][run]), noise, 3, options);
    const auto asked = search.ask();
    EXPECT_EQ(Line(asked.begin(), asked.end()), lines["offsets"][0]);
    std::vector<MirroredReturns> returns;
    for (std::size_t i = 0; i < plus.size(); ++i)
      returns.push_back({.plus = plus[i], .minus = minus[i]});
    search.tell(returns);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(search.parameters()[i], lines["updated"][run][i], 1e-6) << run;
  }
}

TEST(ArsUpdateTest, equal_returns_move_nothing) {
  const auto noise = make_noise_table(1 << 10, 3);
  Evolution search({1, 2, 3}, noise, 3, ars(4, 2, 0.1));
  search.tell(std::vector<MirroredReturns>(4, {.plus = 7, .minus = 7}));
  EXPECT_TRUE(std::ranges::equal(search.parameters(), std::vector<float>{1, 2, 3}));
}

TEST(ArsUpdateTest, ranks_of_the_best_directions_alone_decide_without_the_deviation) {
  const auto noise = make_noise_table(1 << 10, 3);
  auto options = ars(4, 2, 0.1);
  options.normalise_by_deviation = false;
  const std::vector<MirroredReturns> returns = {
    {.plus = 5, .minus = 1}, {.plus = 9, .minus = 8}, {.plus = 0, .minus = 6}, {4, 4}};
  Evolution search({1, 2, 3}, noise, 3, options), other({1, 2, 3}, noise, 3, options);
  search.tell(returns);
  auto changed = returns;
  changed[0] = {.plus = -100, .minus = 3}; // Still not among the best two.
  other.tell(changed);
  EXPECT_TRUE(std::ranges::equal(search.parameters(), other.parameters()));
  EXPECT_NE(search.parameters()[0], 1);
}

TEST(ArsUpdateTest, more_best_directions_than_directions_are_refused) {
  const auto noise = make_noise_table(1 << 10, 3);
  try {
    Evolution({1, 2, 3}, noise, 3, ars(4, 5, 0.1));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "only the best 5 directions are to count, but there are 4");
  }
}

TEST(ArsOptionsTest, a_robot_of_version_4_has_the_settings_of_its_task) {
  for (const std::string name : {"hopper", "swimmer", "half_cheetah"}) {
    const auto now = ars_options(name), before = ars_options(name + "_v4");
    EXPECT_EQ(now.search.directions, before.search.directions) << name;
    EXPECT_EQ(now.alive_bonus_offset, before.alive_bonus_offset) << name;
    EXPECT_EQ(now.normalise, before.normalise) << name;
  }
  EXPECT_EQ(ars_options("hopper_v4").alive_bonus_offset, -1);
}

/// Shows a number that changes and one that does not.
struct Half {
  using Action = std::array<float, 1>;
  static constexpr Action action_low{-1}, action_high{1};
  static constexpr std::size_t observation_size = 2;
  void reset(std::uint64_t) { steps_ = 0; }
  Step step(Action) { return {.reward = 1, .truncated = ++steps_ == 5}; }
  void observe(std::span<float> out) const {
    out[0] = static_cast<float>(steps_);
    out[1] = 3;
  }
  int steps_ = 0;
};

TEST(ArsPolicyTest, a_number_that_never_changed_counts_nothing) {
  auto options = ars_options("half");
  options.search.directions = 2;
  options.search.top = 1;
  const auto noise = make_noise_table(1 << 10, 3);
  Half half;
  EvolutionTraining training(options, spaces_of(half), noise);
  const auto environment = erase<Half>();
  training.step(serial_evaluator(*environment, noise));
  const auto normaliser = training.generation().normaliser;
  ASSERT_EQ(normaliser.scale().size(), 2u);
  EXPECT_GT(normaliser.scale()[0], 0);
  EXPECT_EQ(normaliser.scale()[1], 0);
}

/// Diverges in its third step.
struct Diverging : Half {
  Step step(Action action) {
    if (steps_ == 2)
      throw PhysicsDiverged("half: the physics diverged");
    return Half::step(action);
  }
};

TEST(RolloutTest, ends_where_the_physics_diverges) {
  Diverging diverging;
  auto spec = evolved_policy(spaces_of(diverging), {});
  const std::vector<float> zeros(evolved_parameter_count(spec));
  EvolvedPolicy policy(spec, zeros, {});
  EXPECT_EQ(rollout(*erase<Diverging>(), policy, 1), 2);
}

TEST(ArsPolicyTest, acts_on_states_normalised_by_all_that_were_seen) {
  auto lines = recording();
  const auto states = floats(lines["states"].at(0));
  RunningMoments moments(2);
  moments.add(std::span<const float>(states));
  const Spaces spaces{.observation_shape = {2},
                      .action_low = {-100, -100, -100},
                      .action_high = {100, 100, 100}};
  EvolvedPolicy policy(
    evolved_policy(spaces, {}), floats(lines["weights"].at(0)),
    FrozenNormaliser(moments, std::numeric_limits<double>::infinity(), 1e-8));
  const auto& expected = lines["actions"].at(0);
  for (std::size_t row = 0; row < 10; ++row) {
    const auto action = policy.act(std::span(states).subspan(2 * row, 2));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(action[i], expected[3 * row + i], 1e-5);
  }
}

/// A training of ARS in an environment, evaluated in this thread.
template <Environment E>
struct ArsTrial {
  explicit ArsTrial(EvolutionTrainingOptions wanted)
    : options(std::move(wanted)), noise(make_noise_table(1 << 16, options.seed)),
      training(options, environment->spaces(), noise) {}

  void steps(int count) {
    for (; count > 0; --count)
      training.step(serial_evaluator(*environment, noise));
  }

  EvolutionTrainingOptions options;
  std::unique_ptr<AnyEnvironment> environment = erase<E>();
  std::vector<float> noise;
  EvolutionTraining training;
};

EvolutionTrainingOptions short_ars(ArsVariant variant) {
  auto options = ars_options("a world", variant);
  options.search.directions = 8;
  options.search.top = std::min<std::size_t>(options.search.top, 4);
  options.evaluations = 1;
  return options;
}

TEST(ArsTrainingTest, begins_at_0_and_has_weights_only) {
  const ArsTrial<Counted> run(short_ars(ArsVariant::v2_t));
  EXPECT_TRUE(std::ranges::equal(run.training.parameters(), std::vector<float>(2)));
}

TEST(ArsTrainingTest, v2_counts_each_state_of_each_candidate_and_v1_none) {
  for (const auto variant :
       {ArsVariant::v1, ArsVariant::v1_t, ArsVariant::v2, ArsVariant::v2_t}) {
    ArsTrial<Counted> run(short_ars(variant));
    run.steps(1);
    const bool best_only = variant == ArsVariant::v1_t || variant == ArsVariant::v2_t;
    EXPECT_EQ(run.options.search.top, best_only ? 4U : 0U);
    const auto& seen = run.training.state().observations;
    // Each step is worth 1, so the returns count the states.
    const auto steps = run.training.state().curve[0].population_mean * 16;
    const bool normalises = variant == ArsVariant::v2 || variant == ArsVariant::v2_t;
    EXPECT_EQ(static_cast<double>(seen.count()), normalises ? steps : 0);
    EXPECT_EQ(run.training.generation().normaliser.identity(), !normalises);
  }
}

TEST(ArsTrainingTest, an_offset_of_the_alive_bonus_is_for_candidates_alone) {
  auto options = short_ars(ArsVariant::v1);
  options.evaluate_every = 1;
  options.alive_bonus_offset = -1;
  ArsTrial<Counted> run(options);
  run.steps(1);
  EXPECT_EQ(run.training.state().curve[0].population_mean, 0);
  EXPECT_GE(run.training.state().curve[0].policy_mean, 1);
}

TEST(ArsTrainingTest, holds_the_pole_after_a_few_iterations) {
  for (const auto variant : {ArsVariant::v1, ArsVariant::v2_t}) {
    auto options = short_ars(variant);
    options.search.directions = 16;
    options.search.sigma = 0.1F;
    options.search.learning_rate = 0.1;
    options.iterations = 12;
    options.evaluations = 20;
    ArsTrial<CartPole> run(options);
    run.steps(12);
    EXPECT_GT(run.training.state().curve.back().policy_mean, 300);
  }
}

TEST(ArsTrainingTest, a_run_cut_and_resumed_ends_as_one_that_was_not) {
  const auto options = short_ars(ArsVariant::v2_t);
  ArsTrial<CartPole> whole(options), first(options);
  whole.steps(4);
  first.steps(2);
  EvolutionTraining second(options, first.environment->spaces(), first.noise,
                           first.training.state());
  for (int i = 0; i < 2; ++i)
    second.step(serial_evaluator(*first.environment, first.noise));
  EXPECT_TRUE(std::ranges::equal(second.parameters(), whole.training.parameters()));
}

TEST(ArsTrainingTest, only_what_differs_from_older_runs_is_in_the_label) {
  const auto of_es = evolution_options("hopper").settings();
  EXPECT_EQ(of_es.count("optimiser") + of_es.count("top") + of_es.count("weights only") +
              of_es.count("observation clip"),
            0U);
  const auto of_ars = ars_options("hopper").settings();
  EXPECT_EQ(of_ars.at("optimiser"), "sgd");
  EXPECT_EQ(of_ars.at("top"), "4");
  EXPECT_EQ(of_ars.at("alive bonus offset"), "-1");
  EXPECT_EQ(of_ars.at("observation clip"), "inf");
}

TEST(ArsTrainingTest, a_policy_with_hidden_layers_has_biases) {
  auto options = short_ars(ArsVariant::v1);
  options.hidden = {4};
  try {
    ArsTrial<Counted> run(options);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "only a linear policy can do without biases; 2 -> 4 -> 1 "
                               "means, tanh has hidden layers");
  }
}

} // namespace ars_of_paper
} // namespace
} // namespace fiber::rl
