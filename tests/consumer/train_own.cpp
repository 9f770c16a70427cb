// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include <fiber/fiber.hpp>
#include <fiber/rl/environments.hpp>
#include <fiber/rl/ppo_network.hpp>
#include <fiber/rl/ppo_trainer.hpp>

#include "balance.hpp"

struct Network : torch::nn::Module {
  Network() {
    trunk = register_module("trunk", torch::nn::Linear(2, 32));
    policy = register_module("policy", torch::nn::Linear(32, 1));
    value = register_module("value", torch::nn::Linear(32, 1));
    log_std = register_parameter("log_std", torch::zeros({1}));
  }
  fiber::rl::PpoForward forward(const torch::Tensor& observations) {
    auto x = trunk->forward(observations).tanh();
    return {policy->forward(x), value->forward(x), log_std};
  }
  torch::nn::Linear trunk{nullptr}, policy{nullptr}, value{nullptr};
  torch::Tensor log_std;
};

int main(int argc, char** argv) {
  fiber::rl::register_environment<Balance>("balance");
  auto session = fiber::init(argc, argv);
  auto options = fiber::rl::ppo_defaults("balance");
  options.steps = 50'000;
  options.jobs = 2;
  fiber::rl::PpoTrainer trainer(options,
                                fiber::rl::ppo_network(std::make_shared<Network>()));
  trainer.run();
  std::printf("mean return %.1f\n", trainer.evaluate().mean_return());
}
