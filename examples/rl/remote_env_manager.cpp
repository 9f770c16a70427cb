// SPDX-License-Identifier: Apache-2.0
// Environments that live in processes of their own, as in the articles on Fiber: the
// policies are here, and ten managers hold a CartPole each, all of which step at the same
// time. The policies differ at random; the next ones surround the mean of the best five.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iostream>
#include <numeric>
#include <utility>
#include <vector>

#include <fiber/fiber.hpp>
#include <fiber/rl/cartpole.hpp>
#include <fiber/rl/random.hpp>

using Numbers = std::array<float, 4>; ///< An observation, or a policy: a weight for each.

/// An observation, and whether the episode is over.
using Seen = std::pair<Numbers, bool>;

class RemoteEnv {
public:
  Seen reset(std::uint64_t seed) {
    env_.reset(seed);
    return look(false);
  }
  Seen step(int action) {
    const auto step = env_.step(action);
    return look(step.terminated || step.truncated);
  }

private:
  Seen look(bool over) const {
    Numbers seen{};
    env_.observe(seen);
    return {seen, over};
  }
  fiber::rl::CartPole env_;
};

/// An episode in each environment, by a policy each. Returns (steps, policy), best first.
std::vector<std::pair<int, Numbers>> play(const std::vector<fiber::Ref<RemoteEnv>>& envs,
                                          const std::vector<Numbers>& policies,
                                          fiber::rl::Random& random) {
  std::vector<fiber::Future<Seen>> next;
  std::vector<std::pair<int, Numbers>> scores;
  for (std::size_t i = 0; i < envs.size(); ++i) {
    next.push_back(envs[i].async<&RemoteEnv::reset>(random.next()));
    scores.emplace_back(-1, policies[i]); // What reset() returns is no step.
  }
  for (auto playing = envs.size(); playing > 0;)
    for (std::size_t i = 0; i < envs.size(); ++i) {
      if (!next[i].valid())
        continue; // Its episode is over.
      auto [seen, over] = next[i].get();
      auto sum = std::inner_product(seen.begin(), seen.end(), policies[i].begin(), 0.0F);
      ++scores[i].first;
      next[i] =
        over ? fiber::Future<Seen>() : envs[i].async<&RemoteEnv::step>(sum > 0 ? 1 : 0);
      playing -= over ? 1 : 0;
    }
  std::ranges::sort(scores, std::greater());
  return scores;
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In another process, this call never returns.
  std::vector<fiber::Manager> managers(10);
  std::vector<fiber::Ref<RemoteEnv>> envs;
  for (auto& manager : managers)
    envs.push_back(manager.create<RemoteEnv>());

  fiber::rl::Random random(1);
  Numbers mean{};
  for (int round = 1; round <= 20; ++round) {
    std::vector<Numbers> policies(envs.size(), mean);
    for (auto& policy : policies)
      for (auto& weight : policy)
        weight += static_cast<float>(random.normal());
    const auto scores = play(envs, policies, random);
    std::cout << "round " << round << ": " << scores.front().first << " steps at most\n";
    mean = {};
    for (std::size_t best = 0; best < 5; ++best)
      for (std::size_t i = 0; i < mean.size(); ++i)
        mean[i] += scores[best].second[i] / 5;
  }
  double total = 0;
  for (int group = 0; group < 10; ++group)
    for (auto& [steps, policy] : play(envs, {envs.size(), mean}, random))
      total += steps;
  std::cout << "mean return " << total / 100 << " over 100 fresh episodes\n";
}
