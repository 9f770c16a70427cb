// SPDX-License-Identifier: Apache-2.0
// Promise: the gradient and the steps of a recurrent policy are PyTorch's, through
// episodes that begin in the middle of a rollout, and its learner sees what it saw step
// by step.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/policy.hpp"
#include "rl/ppo/learner.hpp"
#include "tests/rl/ppo/wave.hpp"

namespace lstm_update {
namespace {

using fiber::rl::Policy;
using fiber::rl::PolicySpec;
using fiber::rl::PpoOptions;
using fiber::rl::ppo::Learner;
using fiber::rl::ppo::Samples;

// As in record_lstm_update.py.
constexpr std::size_t steps = 7, envs = 3, units = 5;
const std::set<std::pair<std::size_t, std::size_t>> left_out = {{2, 1}, {5, 2}, {6, 2}},
                                                    begins = {
                                                      {3, 0}, {3, 1}, {5, 1}, {6, 1}};

using fiber::rl::ppo::tests::wave;

PolicySpec spec_of(const std::string& name) {
  PolicySpec spec{.spaces = {.observation_shape = {4}, .actions = 3}};
  spec.hidden = {6};
  spec.lstm = units;
  if (name == "linear")
    spec.hidden = {};
  if (name == "continuous")
    spec.spaces = {
      .observation_shape = {4}, .action_low = {-2, -2}, .action_high = {2, 2}};
  return spec;
}

/// The samples that the script made, of a rollout or of one environment alone.
struct Rollout {
  PolicySpec spec;
  std::vector<std::uint32_t> environments;
  std::vector<std::uint8_t> new_episodes;
  std::vector<float> observations, actions, log_probabilities, values, advantages,
    returns, memory;

  explicit Rollout(const PolicySpec& of) : spec(of) {
    for (std::size_t step = 0; step < steps; ++step)
      for (std::size_t env = 0; env < envs; ++env)
        if (!left_out.contains({step, env})) {
          environments.push_back(static_cast<std::uint32_t>(env));
          new_episodes.push_back(begins.contains({step, env}) ? 1 : 0);
        }
    const auto rows = environments.size();
    observations = wave(rows * 4, 0.2, 1);
    actions = wave(rows * spec.spaces.action_size(), 0.7, 1.5);
    if (spec.spaces.discrete())
      for (std::size_t i = 0; i < rows; ++i)
        actions[i] = static_cast<float>(i % 3);
    log_probabilities = wave(rows, 0.3, 0.3);
    for (auto& number : log_probabilities)
      number -= 1;
    values = wave(rows, 0.4, 0.5);
    advantages = wave(rows, 0.5, 2);
    returns = wave(rows, 0.6, 1);
    memory = wave(envs * spec.memory_size(), 0.8, 0.5);
  }
  std::vector<float> parameters() const { return wave(spec.parameter_count(), 0.1, 0.5); }
  Samples samples() const {
    return {observations,
            actions,
            log_probabilities,
            values,
            advantages,
            returns,
            {}, // No masks.
            {environments, new_episodes, memory, spec.memory_size()}};
  }
};

PpoOptions three_steps() {
  PpoOptions options;
  options.rollout = steps;
  options.minibatch = steps * envs;
  options.epochs = 3;
  options.entropy_coefficient = 0.01;
  return options;
}

struct Recorded {
  double policy = 0, value = 0, entropy = 0;
  std::vector<double> gradient, after;

  explicit Recorded(const std::string& name) {
    fiber::detail::Classic<std::ifstream> file(LSTM_UPDATE);
    for (std::string word; file >> word && word != name;)
      ;
    std::size_t parameters = 0;
    file >> parameters >> policy >> value >> entropy;
    for (auto* numbers : {&gradient, &after}) {
      numbers->resize(parameters);
      for (auto& number : *numbers)
        file >> number;
    }
    if (!file || parameters == 0)
      throw std::runtime_error("no case " + name + " in " LSTM_UPDATE);
  }
};

class LstmUpdateTest : public testing::TestWithParam<const char*> {};

TEST_P(LstmUpdateTest, losses_and_gradient_are_those_of_pytorch) {
  const Recorded recorded(GetParam());
  const Rollout rollout(spec_of(GetParam()));
  ASSERT_EQ(rollout.spec.parameter_count(), recorded.gradient.size());
  Learner learner(rollout.spec, rollout.parameters(), three_steps(), 1);
  std::vector<float> gradient;
  const auto losses = learner.gradient_of(rollout.samples(), 0.2, gradient);
  EXPECT_NEAR(losses.policy, recorded.policy, 1e-5);
  EXPECT_NEAR(losses.value, recorded.value, 1e-5);
  EXPECT_NEAR(losses.entropy, recorded.entropy, 1e-5);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    EXPECT_NEAR(gradient[i], recorded.gradient[i], 1e-5) << i;
}

TEST_P(LstmUpdateTest, parameters_after_three_steps_of_adam_are_those_of_pytorch) {
  const Recorded recorded(GetParam());
  const Rollout rollout(spec_of(GetParam()));
  Learner learner(rollout.spec, rollout.parameters(), three_steps(), 1);
  EXPECT_EQ(learner.update(rollout.samples(), 3e-3, 0.2).steps, 3);
  for (std::size_t i = 0; i < recorded.after.size(); ++i)
    EXPECT_NEAR(learner.parameters()[i], recorded.after[i], 1e-5) << i;
}

TEST_P(LstmUpdateTest, the_gradient_is_the_slope_of_the_loss) {
  const Rollout rollout(spec_of(GetParam()));
  auto options = three_steps();
  const auto loss = [&](const std::vector<float>& parameters) {
    std::vector<float> unused;
    Learner learner(rollout.spec, parameters, options, 1);
    const auto losses = learner.gradient_of(rollout.samples(), 0.2, unused);
    return losses.policy + options.value_coefficient * losses.value -
           options.entropy_coefficient * losses.entropy;
  };
  const auto parameters = rollout.parameters();
  std::vector<float> gradient;
  Learner(rollout.spec, parameters, options, 1)
    .gradient_of(rollout.samples(), 0.2, gradient);
  constexpr float way = 4e-3F;
  for (std::size_t i = 0; i < parameters.size(); i += 7) {
    auto above = parameters, below = parameters;
    above[i] += way;
    below[i] -= way;
    EXPECT_NEAR((loss(above) - loss(below)) / (2 * way), gradient[i], 1e-3) << i;
  }
}

/// Plays the rollout step by step, as an actor does, and notes the probabilities of its
/// actions and the values.
void play(Rollout& rollout) {
  Policy policy(rollout.spec, rollout.parameters());
  auto memory = rollout.memory;
  const auto size = rollout.spec.memory_size();
  const auto width = rollout.spec.spaces.action_size();
  for (std::size_t row = 0; row < rollout.environments.size(); ++row) {
    const auto of_env = std::span(memory).subspan(rollout.environments[row] * size, size);
    if (rollout.new_episodes[row] == 1)
      std::ranges::fill(of_env, 0.0F);
    const auto decisions =
      policy.sample(std::span(rollout.observations).subspan(4 * row, 4),
                    {.seed = 1, .step = row}, {.memory = of_env});
    std::ranges::copy(decisions.actions, &rollout.actions[row * width]);
    rollout.log_probabilities[row] = decisions.log_probabilities[0];
    rollout.returns[row] = decisions.values[0];
  }
}

TEST_P(LstmUpdateTest, a_learner_sees_what_the_policy_saw_step_by_step) {
  Rollout rollout(spec_of(GetParam()));
  play(rollout);
  Learner learner(rollout.spec, rollout.parameters(), three_steps(), 1);
  std::vector<float> gradient;
  const auto losses = learner.gradient_of(rollout.samples(), 1e-5, gradient);
  EXPECT_LT(losses.kl, 1e-8); // Of rounding.
  EXPECT_EQ(losses.clip_fraction, 0);
  EXPECT_LT(losses.value, 1e-11);
  for (auto& number : rollout.memory) // The memory before the rollout counts.
    number += 0.5F;
  EXPECT_GT(learner.gradient_of(rollout.samples(), 1e-5, gradient).value, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(cases, LstmUpdateTest,
                         testing::Values("discrete", "continuous", "linear"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LstmMinibatchTest, a_minibatch_has_whole_environments) {
  const Rollout rollout(spec_of("discrete"));
  auto options = three_steps();
  const auto steps_of = [&](std::size_t minibatch) {
    options.minibatch = minibatch;
    return Learner(rollout.spec, rollout.parameters(), options, 1)
      .update(rollout.samples(), 1e-3, 0.2)
      .steps;
  };
  EXPECT_EQ(steps_of(2), 9); // One environment, in each of three epochs.
  EXPECT_EQ(steps_of(steps), 9);
  EXPECT_EQ(steps_of(steps + 1), 6); // Two, and one.
  EXPECT_EQ(steps_of(100), 3);
}

TEST(LstmMinibatchTest, samples_that_do_not_fit_are_errors) {
  Rollout rollout(spec_of("discrete"));
  Learner learner(rollout.spec, rollout.parameters(), three_steps(), 1);
  auto plain = rollout.samples();
  plain.sequences = {};
  EXPECT_THROW(learner.update(plain, 1e-3, 0.2), std::invalid_argument);
  rollout.environments[4] = envs;
  EXPECT_THROW(learner.update(rollout.samples(), 1e-3, 0.2), std::invalid_argument);
}

} // namespace
} // namespace lstm_update
