// SPDX-License-Identifier: Apache-2.0
// PPO with a network of your own: any torch::nn::Module. Here it is one whose policy and
// value share their first layers, and it learns to swing Acrobot up.
//
//     ./dev install-deps build torch && ./dev build release own_network
//     build/release/examples/rl/own_network 4       # 4 jobs play the environments
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fiber/fiber.hpp>
#include <fiber/rl/ppo_network.hpp>
#include <fiber/rl/ppo_trainer.hpp>

namespace {

struct SharedTrunk : torch::nn::Module {
  SharedTrunk(int observation, int actions) {
    using torch::nn::Linear;
    trunk = register_module(
      "trunk", torch::nn::Sequential(Linear(observation, 64), torch::nn::Tanh(),
                                     Linear(64, 64), torch::nn::Tanh()));
    policy = register_module("policy", Linear(64, actions));
    value = register_module("value", Linear(64, 1));
  }

  fiber::rl::PpoForward forward(const torch::Tensor& observations) {
    auto x = trunk->forward(observations);
    return {policy->forward(x), value->forward(x)};
  }

  torch::nn::Sequential trunk{nullptr};
  torch::nn::Linear policy{nullptr}, value{nullptr};
};

} // namespace

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  torch::manual_seed(1); // The first parameters.
  auto network = std::make_shared<SharedTrunk>(6, 3);

  auto options = fiber::rl::ppo_defaults("acrobot");
  options.steps = 200'000;
  options.jobs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  fiber::rl::PpoTrainer trainer(options, fiber::rl::ppo_network(network));
  trainer.run([](const fiber::rl::PpoUpdate& row) {
    if (row.update % 10 == 0)
      std::printf("%7llu steps: mean return %.1f\n",
                  static_cast<unsigned long long>(row.steps), row.return_mean);
    return true;
  });
  std::printf("mean return of 100 fresh episodes: %.1f\n",
              trainer.evaluate().mean_return());
}
