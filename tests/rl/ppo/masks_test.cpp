// SPDX-License-Identifier: Apache-2.0
// Promise: PPO learns where masks forbid most actions and where an action has several
// components; rollouts, actors and checkpoints keep each mask with its observation.

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/evolution_evaluation.hpp"
#include "fiber/rl/knights_tour.hpp"
#include "fiber/rl/ppo_trainer.hpp"
#include "fiber/rl/random.hpp"
#include "rl/ppo/behaviour_policy.hpp"
#include "rl/ppo/player.hpp"
#include "rl/ppo/rollout.hpp"
#include "rl/ppo/trajectory_batch.hpp"

namespace masks {
namespace {

namespace rl = fiber::rl;
namespace ppo = fiber::rl::ppo;

constexpr std::size_t squares = rl::KnightsTour::actions;

/// Of each row: the squares that are a jump away from the knight and not visited.
std::vector<std::uint8_t> masks_of(std::span<const float> observations) {
  std::vector<std::uint8_t> masks;
  for (std::size_t at = 0; at < observations.size(); at += 2 * squares) {
    const auto visited = observations.subspan(at, squares),
               knight = observations.subspan(at + squares, squares);
    const auto here = static_cast<int>(std::ranges::find(knight, 1) - knight.begin());
    for (int square = 0; square < static_cast<int>(squares); ++square) {
      const auto rows = std::abs(square / 8 - here / 8),
                 columns = std::abs(square % 8 - here % 8);
      masks.push_back(rows * columns == 2 &&
                      visited[static_cast<std::size_t>(square)] == 0);
    }
  }
  return masks;
}

rl::PpoOptions small(const std::string& environment) {
  auto options = rl::ppo_defaults(environment);
  options.envs = 4;
  options.rollout = 64;
  options.minibatch = 64;
  options.steps = 1024;
  return options;
}

TEST(MaskedRolloutTest, keeps_the_mask_of_each_observation) {
  const auto options = small("knights_tour");
  ppo::Rollouts rollouts(options, 1);
  const auto policy = ppo::behaviour_policy(options.policy_spec(rollouts.spaces()));
  for (int i = 0; i < 2; ++i) {
    rollouts.play(*policy);
    const auto samples = rollouts.samples();
    ASSERT_EQ(samples.size(), 256u);
    EXPECT_EQ(std::vector<std::uint8_t>(samples.masks.begin(), samples.masks.end()),
              masks_of(samples.observations));
  }
}

TEST(MaskedRolloutTest, an_actors_trajectory_has_the_masks_and_needs_no_correction) {
  const auto options = small("knights_tour");
  const auto spec = options.policy_spec(rl::make_environment("knights_tour")->spaces());
  const ppo::Learner learner(spec, rl::initial_parameters(spec, 0), options, 1);
  ppo::Player player(
    {.environment = "knights_tour", .spec = spec, .seed = 1, .envs = 4, .rollout = 64},
    0);
  const auto trajectory = player.play();
  EXPECT_EQ(trajectory.masks, masks_of(trajectory.observations));
  ppo::TrajectoryBatch batch(options, spec);
  batch.add(trajectory);
  const auto samples = batch.samples(learner);
  EXPECT_EQ(std::vector<std::uint8_t>(samples.masks.begin(), samples.masks.end()),
            trajectory.masks);
  for (std::size_t i = 0; i < samples.size(); ++i)
    ASSERT_NEAR(samples.log_probabilities[i], trajectory.log_probabilities[i], 1e-5);
  auto cut = trajectory;
  cut.masks.pop_back();
  EXPECT_THROW(batch.add(cut), std::invalid_argument);
}

TEST(MaskedTrainingTest, continues_bit_by_bit_from_a_checkpoint) {
  const auto options = small("knights_tour");
  const auto file = std::filesystem::temp_directory_path() /
                    ("fiber-masks-" + std::to_string(::getpid()));
  rl::PpoTrainer whole(options);
  whole.update();
  whole.save(file);
  whole.update();
  rl::PpoTrainer rest(options);
  ASSERT_TRUE(rest.load(file));
  rest.update();
  EXPECT_EQ(rest.policy().parameters, whole.policy().parameters);
  std::filesystem::remove(file);
}

/// Jumps to any possible square.
double mean_return_at_random() {
  rl::Random random(1);
  double sum = 0;
  constexpr int episodes = 1000;
  for (std::uint64_t episode = 0; episode < episodes; ++episode) {
    rl::KnightsTour tour;
    tour.reset(episode);
    for (bool over = false; !over; ++sum) {
      std::array<std::uint8_t, squares> mask;
      tour.mask(mask);
      std::vector<int> possible;
      for (int square = 0; square < static_cast<int>(squares); ++square)
        if (mask[static_cast<std::size_t>(square)] != 0)
          possible.push_back(square);
      over = tour.step(possible[random.below(possible.size())]).terminated;
    }
  }
  return sum / episodes;
}

TEST(MaskedTrainingTest, learns_the_knights_tour_in_a_hundred_thousand_steps) {
  const auto at_random = mean_return_at_random();
  auto options = rl::ppo_defaults("knights_tour");
  options.steps = 100'000;
  rl::PpoTrainer trainer(options);
  trainer.run();
  const auto learned = trainer.evaluate({.episodes = 100}).mean_return();
  RecordProperty("at_random", std::to_string(at_random));
  RecordProperty("learned", std::to_string(learned));
  EXPECT_GT(at_random, 30);
  EXPECT_LT(at_random, 40);
  EXPECT_GT(learned, at_random + 5);
}

/// A number is shown in two digits, base 4 and base 3; the action is the two digits. One
/// wrong choice of the second digit is forbidden.
class Digits {
public:
  using Action = std::array<int, 2>;
  static constexpr Action actions{4, 3};
  static constexpr std::size_t observation_size = 7;

  void reset(std::uint64_t seed) {
    random_ = Random(seed);
    steps_ = 0;
    draw();
  }
  rl::Step step(Action action) {
    const auto reward = 0.5 * (action[0] == digits_[0]) + 0.5 * (action[1] == digits_[1]);
    draw();
    return {.reward = reward, .truncated = ++steps_ == 20};
  }
  void observe(std::span<float> out) const {
    std::ranges::fill(out, 0.0F);
    out[static_cast<std::size_t>(digits_[0])] = 1;
    out[static_cast<std::size_t>(4 + digits_[1])] = 1;
  }
  void mask(std::span<std::uint8_t> out) const {
    std::ranges::fill(out, std::uint8_t{1});
    out[static_cast<std::size_t>(4 + (digits_[1] + 1) % 3)] = 0;
  }

private:
  using Random = rl::Random;
  void draw() { digits_ = {int(random_.below(4)), int(random_.below(3))}; }

  Random random_{0};
  std::array<int, 2> digits_ = {};
  int steps_ = 0;
};

const bool registered = (rl::register_environment<Digits>("digits"), true);

TEST(MultiDiscreteTrainingTest, learns_each_component) {
  auto options = small("digits");
  options.steps = 20'480;
  options.learning_rate = 3e-3;
  rl::PpoTrainer trainer(options);
  EXPECT_EQ(trainer.network(), "7 -> 64 -> 64 -> 4+3 masked logits, tanh");
  trainer.run();
  EXPECT_GT(trainer.evaluate({.episodes = 20}).mean_return(), 19);
}

TEST(MultiDiscreteTrainingTest, an_evolved_policy_plays_within_the_mask) {
  for (const auto* name : {"digits", "knights_tour"}) {
    const auto environment = rl::make_environment(name);
    const auto spec = rl::evolved_policy(environment->spaces(), {4});
    rl::EvolvedPolicy policy(spec, rl::initial_evolved_parameters(spec, 3), {});
    EXPECT_GT(rl::rollout(*environment, policy, 5), 0) << name;
  }
}

} // namespace
} // namespace masks
