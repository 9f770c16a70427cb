// SPDX-License-Identifier: Apache-2.0
// A run learns, and is the same to the last bit whenever it is run again.

#include "fiber/rl/evolution_training.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include "fiber/rl/bipedal_walker.hpp"
#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/pendulum.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {

EvolutionTrainingOptions short_cartpole() {
  auto options = evolution_options("cartpole");
  options.table_size = 1 << 18;
  options.episodes = 2;
  options.evaluations = 20;
  options.search.directions = 64;
  options.search.learning_rate = 0.03;
  options.search.sigma = 0.1f;
  options.iterations = 25;
  return options;
}

/// A function as an environment: minus the squared distance to a point. An episode is one
/// step, whose action is where the agent looks; it sees a 1.
struct Quadratic {
  using Action = std::array<float, 3>;
  static constexpr std::size_t observation_size = 1;
  static constexpr Action action_low = {-10, -10, -10}, action_high = {10, 10, 10};
  static constexpr Action target = {5.0f, -5.0f, 1.5f};

  void reset(std::uint64_t) {}
  Step step(Action action) {
    double distance = 0;
    for (std::size_t i = 0; i < target.size(); ++i)
      distance += std::pow(static_cast<double>(action[i] - target[i]), 2);
    return {.reward = -distance, .terminated = true};
  }
  void observe(std::span<float> out) const { out[0] = 1; }
};

/// A run, and what it needs.
template <Environment E>
struct Trial {
  explicit Trial(const EvolutionTrainingOptions& options)
    : noise(make_noise_table(options.table_size, options.seed)),
      training(options, environment->spaces(), noise) {}
  Trial(const EvolutionTrainingOptions& options, const EvolutionTrainingState& state)
    : noise(make_noise_table(options.table_size, options.seed)),
      training(options, environment->spaces(), noise, state) {}

  void steps(int n) {
    const auto evaluator = serial_evaluator(*environment, noise);
    for (; n > 0 && !training.finished(); --n)
      training.step(evaluator);
  }
  void finish() { steps(std::numeric_limits<int>::max()); }
  const EvolutionTrainingState& state() const { return training.state(); }

  std::unique_ptr<AnyEnvironment> environment = erase<E>();
  std::vector<float> noise;
  EvolutionTraining training;
};

TEST(TrainingTest, finds_the_target_of_an_environment_of_ones_own) {
  EvolutionTrainingOptions options;
  options.environment = "quadratic";
  options.hidden = {};
  options.evaluations = 1;
  options.table_size = 1 << 16;
  options.search.directions = 20;
  options.search.learning_rate = 0.1;
  Trial<Quadratic> run(options);
  run.finish();
  EXPECT_EQ(run.state().curve.size(), options.iterations);
  EXPECT_GT(run.state().curve.back().policy_mean, -0.05);
  EvolvedPolicy policy(run.training.policy(), run.training.parameters(), {});
  const float one = 1;
  const auto found = policy.act({&one, 1});
  for (std::size_t i = 0; i < Quadratic::target.size(); ++i)
    EXPECT_NEAR(found[i], Quadratic::target[i], 0.2);
}

TEST(TrainingTest, a_short_run_learns_to_hold_the_pole) {
  Trial<CartPole> run(short_cartpole());
  run.finish();
  EXPECT_LT(run.state().curve.front().policy_mean, 150);
  EXPECT_GT(run.state().curve.back().policy_mean, 400);
}

/// The same world, whose numbers are far from 0 and of very different sizes.
struct SkewedCartPole : CartPole {
  void observe(std::span<float> out) const {
    CartPole::observe(out);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = 1000 + out[i] * (i % 2 == 0 ? 100.0f : 0.01f);
  }
};

TEST(TrainingTest, normalising_makes_up_for_observations_of_other_sizes) {
  auto options = short_cartpole();
  options.normalise = true;
  Trial<SkewedCartPole> normalised(options);
  normalised.finish();
  EXPECT_GT(normalised.state().curve.back().policy_mean, 300);
  options.normalise = false;
  Trial<SkewedCartPole> raw(options);
  raw.finish();
  EXPECT_LT(raw.state().curve.back().policy_mean, 150);
}

TEST(TrainingTest, the_share_of_directions_decides_how_many_observations_count) {
  auto options = short_cartpole();
  options.normalise = true;
  options.search.directions = 400;
  options.episodes = 1;
  auto counted = [&](double share) {
    options.counted_share = share;
    Trial<CartPole> run(options);
    run.steps(1);
    return static_cast<double>(run.state().observations.count());
  };
  const auto all = counted(1);
  EXPECT_NEAR(counted(0.25) / all, 0.25, 0.08);
  EXPECT_LT(counted(1e-9), 1);
}

TEST(TrainingTest, a_run_cut_anywhere_and_resumed_ends_as_one_that_was_not) {
  auto options = short_cartpole();
  options.normalise = true;
  options.iterations = 6;
  Trial<CartPole> whole(options);
  whole.finish();
  for (int cut = 1; cut < 6; ++cut) {
    Trial<CartPole> first(options);
    first.steps(cut);
    Trial<CartPole> second(options, first.state());
    second.finish();
    EXPECT_EQ(second.state().search.parameters, whole.state().search.parameters);
    EXPECT_EQ(second.state().observations, whole.state().observations);
    ASSERT_EQ(second.state().curve.size(), whole.state().curve.size());
    EXPECT_EQ(second.state().curve.back().policy_mean,
              whole.state().curve.back().policy_mean);
    EXPECT_EQ(second.state().curve.back().episodes, whole.state().curve.back().episodes);
  }
}

#ifdef FIBER_HAS_BOX2D
/// The first four seconds of a walk.
struct ShortWalk : BipedalWalker {
  ShortWalk() : BipedalWalker(TerrainOptions{}, 200) {}
};

TEST(TrainingTest, a_short_run_teaches_a_walker_not_to_fall) {
  auto options = evolution_options("bipedal_walker");
  options.table_size = 1 << 18;
  options.hidden = {};
  options.iterations = 12;
  options.evaluations = 10;
  options.evaluate_every = 12;
  options.counted_share = 0.25;
  options.search.directions = 24;
  options.search.learning_rate = 0.05;
  Trial<ShortWalk> run(options);
  run.finish();
  EXPECT_GT(run.state().observations.count(), 1000u);
  EXPECT_LT(run.state().curve.front().population_mean, -60);
  EXPECT_GT(run.state().curve.back().policy_mean, -20);
}
#endif

TEST(TrainingTest, a_policy_is_evaluated_in_its_turn_and_at_the_end) {
  auto options = short_cartpole();
  options.iterations = 5;
  options.solved_at = {};
  Trial<CartPole> always(options);
  always.finish();
  options.evaluate_every = 3;
  Trial<CartPole> seldom(options);
  seldom.finish();
  EXPECT_EQ(seldom.state().search.parameters, always.state().search.parameters);
  ASSERT_EQ(seldom.state().curve.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto mean = seldom.state().curve[i].policy_mean;
    if (i == 2 || i == 4)
      EXPECT_EQ(mean, always.state().curve[i].policy_mean);
    else
      EXPECT_TRUE(std::isnan(mean)) << mean;
  }
  EXPECT_EQ(always.state().curve.back().episodes - seldom.state().curve.back().episodes,
            3 * options.evaluations);
  options.evaluate_every = 0;
  EXPECT_THROW(Trial<CartPole>{options}, std::invalid_argument);
}

TEST(TrainingTest, another_seed_gives_another_run) {
  auto options = short_cartpole();
  auto last_parameter = [&](std::uint64_t seed) {
    options.seed = seed;
    Trial<CartPole> run(options);
    run.steps(1);
    return run.training.parameters().back();
  };
  EXPECT_NE(last_parameter(1), last_parameter(2));
}

TEST(TrainingTest, the_mark_must_be_reached_twice_to_count_as_solved) {
  Trial<CartPole> run(short_cartpole());
  double confirmation = 474;
  auto evaluator = serial_evaluator(*run.environment, run.noise);
  evaluator.policy = [&](const Generation&, Judgement judgement, std::uint64_t count) {
    return std::vector<double>(count,
                               judgement == Judgement::confirmation ? confirmation : 500);
  };
  run.training.step(evaluator);
  EXPECT_FALSE(run.state().solved);
  EXPECT_FALSE(run.training.finished());
  confirmation = 475;
  run.training.step(evaluator);
  EXPECT_TRUE(run.state().solved);
  EXPECT_TRUE(run.training.finished());
  EXPECT_EQ(run.state().confirmed_mean, 475);
}

TEST(TrainingTest, an_evaluator_that_throws_leaves_everything_as_it_was) {
  Trial<CartPole> run(short_cartpole());
  const auto before = run.state().search.parameters;
  auto evaluator = serial_evaluator(*run.environment, run.noise);
  evaluator.policy = [](const Generation&, Judgement,
                        std::uint64_t) -> std::vector<double> {
    throw std::runtime_error("gone");
  };
  EXPECT_THROW(run.training.step(evaluator), std::runtime_error);
  EXPECT_EQ(run.state().search.parameters, before);
  EXPECT_EQ(run.state().search.iteration, 0u);
  EXPECT_TRUE(run.state().curve.empty());
}

TEST(TrainingTest, the_episodes_that_judge_are_not_those_of_training_nor_each_others) {
  Trial<CartPole> run(short_cartpole());
  const auto generation = run.training.generation();
  std::vector<double> first, again;
  for (std::uint64_t i = 0; i < 20; ++i) {
    first.push_back(
      evaluate_policy(*run.environment, generation, Judgement::evaluation, i));
    again.push_back(
      evaluate_policy(*run.environment, generation, Judgement::confirmation, i));
  }
  EXPECT_NE(first, again);
}

TEST(TrainingTest, a_policy_for_other_spaces_is_refused) {
  Trial<CartPole> run(short_cartpole());
  const auto other = erase<Pendulum>();
  EXPECT_THROW(evaluate_policy(*other, run.training.generation(), {}, 0),
               std::invalid_argument);
}

TEST(TrainingTest, settings_name_all_but_the_number_of_iterations) {
  const auto options = evolution_options("cartpole");
  auto other = options;
  other.iterations = 1;
  EXPECT_EQ(other.settings(), options.settings());
  other.search.sigma *= 2;
  EXPECT_NE(other.settings(), options.settings());
  other = options;
  other.evaluate_every = 2;
  EXPECT_NE(other.settings(), options.settings());
}

TEST(EvolvedPolicyTest, takes_the_first_of_the_greatest_outputs) {
  const auto spec = evolved_policy(spaces_of(CartPole()), {});
  ASSERT_EQ(evolved_parameter_count(spec), 10u);
  // Rows of weights, then biases.
  const std::vector<float> parameters = {1, 0, 0, 0, 0, 1, 0, 0, 0.5f, 0};
  EvolvedPolicy policy(spec, parameters, {});
  auto action = [&](float first, float second) {
    return policy.act(std::array{first, second, 0.0f, 0.0f})[0];
  };
  EXPECT_EQ(action(1, 1), 0);
  EXPECT_EQ(action(1, 1.5f), 0);
  EXPECT_EQ(action(1, 2), 1);
}

TEST(EvolvedPolicyTest, is_a_policy_of_its_spec) {
  const auto spec = evolved_policy(spaces_of(Pendulum()), {4, 3});
  const auto parameters = initial_evolved_parameters(spec, 7);
  EvolvedPolicy evolved(spec, parameters, {});
  Policy whole(spec, evolved.spec_parameters());
  const std::array observation = {0.1f, -0.7f, 1.5f};
  EXPECT_EQ(evolved.act(observation)[0], whole.best(observation)[0]);
  EXPECT_NE(evolved.act(observation)[0], 0);
  EXPECT_EQ(whole.log_std()[0], 0);
  EXPECT_EQ(whole.evaluate_values(observation)[0], 0);
}

TEST(EvolvedPolicyTest, clips_continuous_actions_into_their_bounds) {
  const auto spec = evolved_policy(spaces_of(Pendulum()), {2});
  // 3 observations, 2 hidden units, 1 output: v . tanh(W x + b) + c.
  const std::vector<float> parameters = {0.5f, 0,    0, 0, -1.0f, 0,
                                         0.1f, 0.2f, 2, 3, 0.25f};
  EvolvedPolicy policy(spec, parameters, {});
  const double expected =
    2 * std::tanh(0.5 * 0.7 + 0.1) + 3 * std::tanh(-0.7 + 0.2) + 0.25;
  EXPECT_NEAR(policy.act(std::array{0.7f, 0.7f, 0.0f})[0], expected, 1e-6);
  EXPECT_EQ(policy.act(std::array{9.0f, -9.0f, 0.0f})[0], 2.0f);
  EXPECT_EQ(policy.act(std::array{-9.0f, 9.0f, 0.0f})[0], -2.0f);
  EXPECT_THROW(EvolvedPolicy(spec, std::span(parameters).first(10), {}),
               std::invalid_argument);
}

} // namespace
} // namespace fiber::rl
