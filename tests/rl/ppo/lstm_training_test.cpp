// SPDX-License-Identifier: Apache-2.0
// Promise: PPO learns with an LSTM what an agent without memory can't, continues from a
// checkpoint as if nothing had happened, and refuses what it can't do.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/ppo_trainer.hpp"
#include "fiber/rl/random.hpp"
#include "rl/ppo/behaviour_policy.hpp"
#include "rl/ppo/rollout.hpp"

namespace lstm_training {
namespace {

using fiber::rl::PpoOptions;
using fiber::rl::PpoTrainer;
using fiber::rl::Step;

/// Shows 1 or -1 once, then zeros. The reward of the last step is 1 if the action is what
/// was shown, so an agent without memory reaches 0.5 on average.
struct Recall {
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  static constexpr int steps = 6;

  void reset(std::uint64_t seed) {
    shown = fiber::rl::Random(seed).uniform() < 0.5 ? 0 : 1;
    step_ = 0;
  }
  Step step(int action) {
    const bool last = ++step_ == steps;
    return {.reward = last && action == shown ? 1.0 : 0.0, .terminated = last};
  }
  void observe(std::span<float> out) const {
    out[0] = step_ > 0 ? 0.0F : shown == 1 ? 1.0F : -1.0F;
  }

  int shown = 0;

private:
  int step_ = 0;
};

const bool registered = [] {
  fiber::rl::register_environment<Recall>("lstm_recall");
  return true;
}();

PpoOptions recall() {
  PpoOptions options;
  options.environment = "lstm_recall";
  options.envs = 8;
  options.rollout = 32; // Episodes begin and end within.
  options.steps = 20'000;
  options.hidden = std::vector<std::size_t>();
  options.lstm = 8;
  options.minibatch = 64;
  options.epochs = 10;
  options.learning_rate = 1e-2;
  return options;
}

/// The mean return of a policy that forgets everything before each step.
double forgetful_return(const fiber::rl::SavedPolicy& saved) {
  fiber::rl::Policy policy(saved.spec, saved.parameters);
  const auto environment = fiber::rl::make_environment(saved.environment);
  const auto choose = [&](std::span<const float> observation, const fiber::rl::SampleKey&,
                          std::span<float> action) {
    std::vector<float> memory(saved.spec.memory_size());
    action[0] = policy.best(observation, {.memory = memory})[0];
  };
  return fiber::rl::evaluate(*environment, choose, {.episodes = 200}).mean_return();
}

TEST(LstmTrainingTest, it_learns_to_remember) {
  PpoTrainer trainer(recall());
  trainer.run();
  EXPECT_GE(trainer.evaluate({.episodes = 200}).mean_return(), 0.95);
  EXPECT_LE(forgetful_return(trainer.policy()), 0.65);
}

TEST(LstmTrainingTest, an_agent_without_memory_does_not) {
  auto options = recall();
  options.lstm = 0;
  PpoTrainer trainer(options);
  trainer.run();
  EXPECT_LE(trainer.evaluate({.episodes = 200}).mean_return(), 0.65);
}

TEST(LstmTrainingTest, it_goes_on_from_a_checkpoint_as_if_nothing_had_happened) {
  auto options = recall();
  options.rollout = 10; // Ends in the middle of episodes.
  options.steps = 800;
  const auto file = std::filesystem::path(testing::TempDir()) /
                    ("lstm-checkpoint-" + std::to_string(::getpid()));
  PpoTrainer whole(options), first(options), second(options);
  whole.run();
  for (int i = 0; i < 5; ++i)
    first.update();
  first.save(file);
  ASSERT_TRUE(second.load(file));
  second.run();
  std::filesystem::remove(file);
  EXPECT_EQ(second.policy().parameters, whole.policy().parameters);
  // With another number of units, the networks are others.
  first.save(file);
  options.lstm = 9;
  PpoTrainer other(options);
  EXPECT_THROW(other.load(file), std::runtime_error);
  std::filesystem::remove(file);
}

/// Acts by a real policy, and expects no memory where an episode begins, and only there.
class Watched final : public fiber::rl::ppo::BehaviourPolicy {
public:
  explicit Watched(const fiber::rl::PolicySpec& spec)
    : policy_(spec, fiber::rl::initial_parameters(spec, 1)), size_(spec.memory_size()) {}

  void follow(const fiber::rl::ppo::Learner&) override {}
  fiber::rl::Policy::Decisions sample(std::span<const float> observations,
                                      const fiber::rl::SampleKey& key,
                                      const fiber::rl::PolicyContext& context) override {
    for (std::size_t row = 0; row < observations.size(); ++row)
      EXPECT_EQ(is_zero(context.memory.subspan(row * size_, size_)),
                observations[row] == 1);
    return policy_.sample(observations, key, context);
  }
  std::span<const float> values(std::span<const float> observations,
                                const fiber::rl::PolicyContext& context) override {
    EXPECT_EQ(context.memory.size(), observations.size() * size_);
    if (observations.size() == 1)
      at_ends.push_back(!is_zero(context.memory));
    return policy_.evaluate_values(observations, context);
  }

  std::vector<bool> at_ends; ///< The value at a cut-off end was asked with memory.

private:
  static bool is_zero(std::span<const float> memory) {
    return std::ranges::all_of(memory, [](float number) { return number == 0; });
  }
  fiber::rl::Policy policy_;
  std::size_t size_;
};

/// Counts to 5 in each episode, which is cut off there; environment and episode decide
/// whether a step throws. Begins with 1: an LSTM without biases remembers nothing of 0.
struct Failing {
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  void reset(std::uint64_t seed) {
    fails_at_ = seed % 3 == 0 ? 3 : 99;
    step_ = 0;
  }
  Step step(int) {
    if (++step_ == fails_at_)
      throw std::runtime_error("broken");
    return {.reward = 1, .truncated = step_ == 5};
  }
  void observe(std::span<float> out) const {
    out[0] = 1 + 0.1F * static_cast<float>(step_);
  }

private:
  int step_ = 0, fails_at_ = 0;
};

const bool registered_too = [] {
  fiber::rl::register_environment<Failing>("lstm_failing");
  return true;
}();

TEST(LstmRolloutTest, memory_is_forgotten_where_an_episode_ends_and_nowhere_else) {
  auto options = recall();
  options.environment = "lstm_failing";
  options.on_error = fiber::rl::OnError::new_episode;
  options.envs = 3;
  options.rollout = 40;
  fiber::rl::ppo::Rollouts rollouts(options, 1);
  Watched policy(options.policy_spec(rollouts.spaces()));
  for (int round = 0; round < 2; ++round) {
    rollouts.play(policy);
    const auto samples = rollouts.samples();
    ASSERT_LT(samples.size(), 120u); // Some rows are not valid.
    ASSERT_EQ(samples.sequences.size(), 3u);
    ASSERT_EQ(samples.sequences.environments.size(), samples.size());
    EXPECT_FALSE(policy.at_ends.empty());
    EXPECT_TRUE(std::ranges::all_of(policy.at_ends, [](bool with) { return with; }));
    // A row begins an episode where the environment shows 1.
    std::array<bool, 3> seen = {};
    for (std::size_t i = 0; i < samples.size(); ++i) {
      auto& before = seen[samples.sequences.environments[i]];
      const bool begins = samples.sequences.begins[i] == 1;
      EXPECT_TRUE(!begins || samples.observations[i] == 1) << i;
      EXPECT_TRUE(begins || !before || samples.observations[i] != 1) << i;
      before = true;
    }
  }
}

TEST(LstmTrainingTest, what_it_cannot_do_is_refused) {
  auto options = recall();
  options.actors = 2;
  EXPECT_THROW(PpoTrainer{options}, std::invalid_argument);
  options = fiber::rl::ppo_defaults("breakout");
  options.lstm = 64;
  EXPECT_THROW(PpoTrainer{options}, std::invalid_argument);
}

} // namespace
} // namespace lstm_training
