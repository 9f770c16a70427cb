// SPDX-License-Identifier: Apache-2.0
// Promise: PpoTrainer trains a network of the user's own as it trains one of its own, a
// checkpoint continues bit by bit, and a network that can't be trained is an error that
// says why.
#include "fiber/rl/ppo_network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/ppo_trainer.hpp"
#include "rl/ppo/learner.hpp"
#include "rl/ppo/network.hpp"
#include "tests/rl/ppo/wave.hpp"

namespace own_network {
namespace {

using fiber::rl::PpoForward;
using fiber::rl::PpoOptions;
using fiber::rl::PpoTrainer;
using fiber::rl::ppo::Learner;

/// The networks of default_policy(), with parameters in the order of PolicySpec.
struct Module : torch::nn::Module {
  Module(std::int64_t inputs, std::int64_t outputs, bool continuous) {
    if (continuous)
      log_std = register_parameter("log_std", torch::zeros({outputs}));
    auto layers = [&](std::int64_t last) {
      return torch::nn::Sequential(torch::nn::Linear(inputs, 64), torch::nn::Tanh(),
                                   torch::nn::Linear(64, 64), torch::nn::Tanh(),
                                   torch::nn::Linear(64, last));
    };
    policy = register_module("policy", layers(outputs));
    value = register_module("value", layers(1));
  }
  PpoForward forward(const torch::Tensor& observations) {
    modes.push_back(is_training());
    return {policy->forward(observations), value->forward(observations), log_std};
  }
  torch::Tensor log_std;
  torch::nn::Sequential policy, value;
  std::vector<bool> modes;
};

std::shared_ptr<Module> module_for(const std::string& environment) {
  torch::manual_seed(7);
  const auto spaces = fiber::rl::make_environment(environment)->spaces();
  const auto outputs =
    static_cast<std::int64_t>(spaces.discrete() ? spaces.logits() : spaces.action_size());
  return std::make_shared<Module>(static_cast<std::int64_t>(spaces.observation_size()),
                                  outputs, !spaces.discrete());
}

std::vector<float> parameters_of(const torch::nn::Module& module) {
  std::vector<float> result;
  for (const auto& each : module.parameters()) {
    const auto flat = each.detach().flatten().contiguous();
    result.insert(result.end(), flat.data_ptr<float>(),
                  flat.data_ptr<float>() + flat.numel());
  }
  return result;
}

PpoOptions short_training(const std::string& environment) {
  auto options = fiber::rl::ppo_defaults(environment);
  options.envs = 2;
  options.rollout = 64;
  options.steps = 640;
  options.minibatch = 32;
  options.epochs = 2;
  return options;
}

std::filesystem::path scratch(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) /
         (name + '-' + std::to_string(::getpid()));
}

using fiber::rl::ppo::tests::wave;

class OwnNetworkTest : public testing::TestWithParam<const char*> {};

/// Rows to learn from.
struct Rollout {
  explicit Rollout(const fiber::rl::Spaces& spaces)
    : observations(wave(64 * spaces.observation_size(), 0.1)),
      actions(wave(64 * spaces.action_size(), 0.2)), masks(64 * spaces.mask_size()) {
    if (spaces.discrete())
      std::ranges::fill(actions, 1.0F);
    for (std::size_t i = 0; i < masks.size(); ++i)
      masks[i] = i % 2; // Allows action 1.
  }
  fiber::rl::ppo::Samples samples() const {
    return {observations, actions, log_probabilities, values, advantages, returns, masks};
  }
  std::vector<float> observations, actions,
    log_probabilities = wave(64, 0.3), values = wave(64, 0.4), advantages = wave(64, 0.5),
    returns = wave(64, 0.6);
  std::vector<std::uint8_t> masks;
};

TEST_P(OwnNetworkTest, an_update_is_that_of_the_same_network_made_from_a_spec) {
  const auto spaces = fiber::rl::make_environment(GetParam())->spaces();
  const auto spec = fiber::rl::default_policy(spaces);
  const auto options = short_training(GetParam());
  const auto module = module_for(GetParam());
  const Rollout rollout(spaces);
  Learner ours(spec, parameters_of(*module), options, 3),
    theirs(spaces, fiber::rl::ppo_network(module), options, 3);
  for (auto* learner : {&ours, &theirs})
    learner->update(rollout.samples(), 1e-3, 0.2);
  const auto trained = parameters_of(*module);
  ASSERT_EQ(trained.size(), ours.parameters().size());
  for (std::size_t i = 0; i < trained.size(); ++i) {
    EXPECT_NEAR(trained[i], ours.parameters()[i], 1e-5);
    EXPECT_EQ(trained[i], theirs.parameters()[i]); // The module's own tensors changed.
  }
}

/// As on a GPU, where the learner has copies of the parameters and of the gradient.
TEST_P(OwnNetworkTest, a_learner_with_copies_learns_the_same_numbers) {
  const auto spaces = fiber::rl::make_environment(GetParam())->spaces();
  const auto options = short_training(GetParam());
  const Rollout rollout(spaces);
  const auto module = module_for(GetParam()), elsewhere = module_for(GetParam());
  const auto learner = [&](const std::shared_ptr<Module>& of, bool copies) {
    auto network = std::make_unique<fiber::rl::ppo::OwnNetwork>(
      spaces, fiber::rl::ppo_network(of), torch::kCPU);
    return Learner(spaces,
                   fiber::rl::ppo::gradient_on_torch(spaces, options, std::move(network),
                                                     "own", copies),
                   options, 3);
  };
  auto here = learner(module, false), with_copies = learner(elsewhere, true);
  const auto expect_equal = [&] {
    EXPECT_EQ(here.state(), with_copies.state());
    EXPECT_EQ(parameters_of(*module), parameters_of(*elsewhere));
    EXPECT_EQ(here.infer(rollout.observations).policy,
              with_copies.infer(rollout.observations).policy);
  };
  expect_equal();
  const auto first = here.state();
  for (auto* each : {&here, &with_copies})
    each->update(rollout.samples(), 1e-3, 0.2);
  EXPECT_NE(first, here.state());
  expect_equal();
  for (auto* each : {&here, &with_copies})
    each->go_on_from(first);
  expect_equal();
}

TEST_P(OwnNetworkTest, a_checkpoint_continues_as_if_nothing_had_happened) {
  const auto file = scratch("own-checkpoint");
  const auto options = short_training(GetParam());
  const auto whole = module_for(GetParam()), rest = module_for(GetParam());
  PpoTrainer trainer(options, fiber::rl::ppo_network(whole));
  trainer.update();
  trainer.update();
  trainer.save(file);
  trainer.run();
  PpoTrainer resumed(options, fiber::rl::ppo_network(rest));
  ASSERT_TRUE(resumed.load(file));
  std::filesystem::remove(file);
  resumed.run();
  EXPECT_EQ(resumed.last_update().update, 5u);
  EXPECT_EQ(parameters_of(*rest), parameters_of(*whole));
  EXPECT_EQ(resumed.evaluate({.episodes = 2}).returns,
            trainer.evaluate({.episodes = 2}).returns);
}

INSTANTIATE_TEST_SUITE_P(spaces, OwnNetworkTest,
                         testing::Values("cartpole", "pendulum", "knights_tour"),
                         [](const auto& info) { return std::string(info.param); });

TEST(PpoTrainerTest, a_network_of_its_own_learns) {
  auto options = fiber::rl::ppo_defaults("cartpole");
  options.steps = 40'000;
  PpoTrainer trainer(options, fiber::rl::ppo_network(module_for("cartpole")));
  const auto before = trainer.evaluate({.episodes = 20}).mean_return();
  ASSERT_LT(before, 150);
  double best = before;
  trainer.run([&](const fiber::rl::PpoUpdate& row) {
    if (row.update % 20 == 0)
      best = std::max(best, trainer.evaluate({.episodes = 20}).mean_return());
    return best < 200;
  });
  EXPECT_GE(best, 200) << "before: " << before;
}

TEST(PpoTrainerTest, a_network_acts_in_its_mode_for_acting_and_learns_in_the_other) {
  const auto module = module_for("cartpole");
  PpoTrainer trainer(short_training("cartpole"), fiber::rl::ppo_network(module));
  module->modes.clear();
  trainer.update();
  const auto learnt = std::ranges::count(module->modes, true);
  EXPECT_EQ(learnt, 2 * 128 / 32); // Epochs and minibatches.
  EXPECT_FALSE(module->modes.front());
  EXPECT_FALSE(module->is_training());
}

TEST(PpoTrainerTest, deviations_may_depend_on_observations) {
  struct Spread : Module {
    Spread() : Module(3, 1, false) {
      head = register_module("head", torch::nn::Linear(3, 1));
    }
    PpoForward forward(const torch::Tensor& observations) {
      auto result = Module::forward(observations);
      result.log_std = head->forward(observations);
      return result;
    }
    torch::nn::Linear head{nullptr};
  };
  const auto module = std::make_shared<Spread>();
  const auto before = parameters_of(*module->head);
  PpoTrainer trainer(short_training("pendulum"), fiber::rl::ppo_network(module));
  EXPECT_TRUE(std::isfinite(trainer.update().entropy));
  EXPECT_NE(parameters_of(*module->head), before);
}

/// What the trainer says of this network for CartPole.
template <class Network>
std::string refusal(std::shared_ptr<Network> network,
                    const char* environment = "cartpole",
                    const std::function<void(PpoOptions&)>& change = {}) {
  auto options = short_training(environment);
  if (change)
    change(options);
  try {
    PpoTrainer(options, fiber::rl::ppo_network(network));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(PpoTrainerTest, a_network_that_cannot_be_trained_is_an_error_that_says_why) {
  EXPECT_EQ(refusal(std::make_shared<Module>(4, 5, false)),
            "the network's policy has the shape [2, 5] for 2 observations; it must be "
            "[2, 2], a logit for each choice of an action");
  EXPECT_EQ(
    refusal(std::make_shared<Module>(3, 1, false), "pendulum"),
    "the network's log_std has the shape [] for 2 observations; it must be [1] or "
    "[2, 1], as actions are continuous");
  auto buffered = std::make_shared<Module>(4, 2, false);
  buffered->register_module("norm", torch::nn::BatchNorm1d(4));
  EXPECT_EQ(
    refusal(buffered),
    "a network for PpoTrainer has no buffers, because a checkpoint would not have "
    "them; this one has norm.running_mean");
  auto wide = std::make_shared<Module>(4, 2, false);
  wide->to(torch::kFloat64);
  EXPECT_EQ(refusal(wide), "the network's parameter policy.0.weight must be float32, on "
                           "the CPU, and require a gradient");
  EXPECT_NE(refusal(module_for("cartpole"), "cartpole",
                    [](PpoOptions& options) { options.hidden = {{8}}; })
              .find("one of your own"),
            std::string::npos);
  EXPECT_NE(refusal(module_for("cartpole"), "cartpole",
                    [](PpoOptions& options) { options.actors = 1; })
              .find("actors must be 0"),
            std::string::npos);
}

TEST(PpoTrainerTest, a_gpu_that_is_not_there_is_an_error_that_says_what_is_missing) {
  const auto on = [](const std::string& device) {
    return refusal(module_for("cartpole"), "cartpole",
                   [&](PpoOptions& options) { options.device = device; });
  };
  if (!at::Context::hasCUDART())
    EXPECT_EQ(on("cuda"),
              "device cuda: this LibTorch was built without CUDA; install one with CUDA, "
              "and set CMAKE_PREFIX_PATH to its folder");
  else
    EXPECT_NE(on("cuda:99").find("no such CUDA device is there"), std::string::npos);
  EXPECT_EQ(on("gpu"), "device must be cpu, cuda, or cuda:N for GPU number N, counted "
                       "from 0, not 'gpu'");
}

TEST(PpoTrainerTest, a_network_of_its_own_has_no_saved_policy) {
  PpoTrainer trainer(short_training("cartpole"),
                     fiber::rl::ppo_network(module_for("cartpole")));
  EXPECT_THROW(std::ignore = trainer.policy(), std::logic_error);
  EXPECT_TRUE(trainer.observations().identity());
}

} // namespace
} // namespace own_network
