// SPDX-License-Identifier: Apache-2.0
// Environments that live in processes of their own, as in the articles on Fiber: a
// policy here, ten managers with a CartPole each, a thousand steps, all of them at once.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fiber/fiber.hpp>
#include <iostream>
#include <span>
#include <vector>

#include "es/cartpole.hpp"

using Observation = std::array<float, 4>;

/// What a step gave, and what the agent sees now.
struct Seen {
  Observation observation = {};
  double reward = 0;
  bool done = false;
};

class RemoteEnv {
public:
  explicit RemoteEnv(std::uint64_t seed) : random_(seed, es::Use::training_episode) {}

  Observation reset() {
    env_.reset(random_);
    return look();
  }
  /// After the end of an episode the next one begins.
  Seen step(float action) {
    auto step = env_.step(std::span(&action, 1));
    Seen seen{look(), step.reward, step.terminated || step.truncated};
    if (seen.done)
      seen.observation = reset();
    return seen;
  }

private:
  Observation look() const {
    Observation seen{};
    std::ranges::copy(env_.observation(), seen.begin());
    return seen;
  }

  es::Random random_;
  es::CartPole env_;
};

/// Pushes the cart under the pole.
float policy(const Observation& seen) {
  auto [position, speed, angle, turn] = seen;
  return 0.1F * position + 0.3F * speed + 3.0F * angle + 1.0F * turn;
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In another process, this call never returns.
  constexpr std::size_t count = 10, steps = 1000;
  std::vector<fiber::Manager> managers(count);
  std::vector<fiber::Ref<RemoteEnv>> envs;
  for (std::size_t i = 0; i < count; ++i)
    envs.push_back(managers[i].create<RemoteEnv>(i));

  std::vector<Observation> seen;
  for (auto& env : envs)
    seen.push_back(env.call<&RemoteEnv::reset>());
  double reward = 0;
  std::size_t episodes = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    std::vector<fiber::Future<Seen>> next;
    for (std::size_t i = 0; i < count; ++i)
      next.push_back(envs[i].async<&RemoteEnv::step>(policy(seen[i])));
    for (std::size_t i = 0; i < count; ++i) {
      auto step = next[i].get();
      seen[i] = step.observation;
      reward += step.reward;
      episodes += step.done ? 1 : 0;
    }
  }
  std::cout << count << " environments, " << steps << " steps each: reward " << reward
            << ", " << episodes << " episodes ended\n";
}
