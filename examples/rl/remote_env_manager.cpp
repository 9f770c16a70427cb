// SPDX-License-Identifier: Apache-2.0
// Environments that live in processes of their own, as in the articles on Fiber: a policy
// here, ten managers with a CartPole each, all of which step at the same time. The policy
// learns by evolution strategies: each environment plays another candidate.
#include <array>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include <fiber/fiber.hpp>
#include <fiber/rl/cartpole.hpp>
#include <fiber/rl/evolution.hpp>
#include <fiber/rl/evolution_evaluation.hpp>
#include <fiber/rl/random.hpp>

namespace rl = fiber::rl;

using Observation = std::array<float, rl::CartPole::observation_size>;

/// What a step gave, and what the agent sees now.
struct Seen {
  Observation observation = {};
  double reward = 0;
  bool done = false;
};

class RemoteEnv {
public:
  Observation reset(std::uint64_t seed) {
    env_.reset(seed);
    return look();
  }
  Seen step(int action) {
    const auto step = env_.step(action);
    return {look(), step.reward, step.terminated || step.truncated};
  }

private:
  Observation look() const {
    Observation seen{};
    env_.observe(seen);
    return seen;
  }

  rl::CartPole env_;
};

/// An episode in each environment, from its seed: policy i plays in the i-th.
/// Returns their sums of rewards.
std::vector<double> play(const std::vector<fiber::Ref<RemoteEnv>>& envs,
                         std::vector<rl::EvolvedPolicy>& policies,
                         const std::vector<std::uint64_t>& seeds) {
  std::vector<Seen> seen(envs.size());
  std::vector<fiber::Future<Observation>> first;
  for (std::size_t i = 0; i < envs.size(); ++i)
    first.push_back(envs[i].async<&RemoteEnv::reset>(seeds[i]));
  for (std::size_t i = 0; i < envs.size(); ++i)
    seen[i].observation = first[i].get();
  std::vector<double> returns(envs.size());
  for (auto playing = envs.size(); playing > 0;) {
    std::vector<fiber::Future<Seen>> next(envs.size());
    for (std::size_t i = 0; i < envs.size(); ++i)
      if (!seen[i].done)
        next[i] = envs[i].async<&RemoteEnv::step>(
          static_cast<int>(policies[i].act(seen[i].observation)[0]));
    for (std::size_t i = 0; i < envs.size(); ++i)
      if (!seen[i].done) {
        seen[i] = next[i].get();
        returns[i] += seen[i].reward;
        playing -= seen[i].done ? 1 : 0;
      }
  }
  return returns;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In another process, this call never returns.
  constexpr std::size_t count = 10;
  constexpr std::uint64_t seed = 1, iterations = 30, groups = 4;
  std::vector<fiber::Manager> managers(count);
  std::vector<fiber::Ref<RemoteEnv>> envs;
  for (auto& manager : managers)
    envs.push_back(manager.create<RemoteEnv>());

  const auto spec = rl::evolved_policy(rl::spaces_of(rl::CartPole()), {}); // Linear.
  const auto noise = rl::make_noise_table(1 << 16, seed);
  const rl::EvolutionOptions options{
    .directions = groups * count / 2, .sigma = 0.2f, .learning_rate = 0.1};
  rl::Evolution search(rl::initial_evolved_parameters(spec, seed), noise, seed, options);
  std::vector<rl::EvolvedPolicy> policies;
  for (std::size_t i = 0; i < count; ++i)
    policies.emplace_back(spec, search.parameters(), rl::FrozenNormaliser());

  std::uint64_t episode = 0;
  auto seeds = [&] { return rl::episode_seed(seed, 0, episode++); };
  std::cout << "iteration  mean return of the candidates\n";
  while (search.iteration() < iterations) {
    std::vector<double> returns;
    const auto offsets = search.ask();
    for (std::size_t first = 0; first < offsets.size(); first += count / 2) {
      std::vector<std::uint64_t> starts(count);
      for (std::size_t i = 0; i < count; ++i) {
        // Two ways along each direction, from the same start.
        const float step = i % 2 == 0 ? options.sigma : -options.sigma;
        policies[i].set_parameters(
          rl::perturbed(search.parameters(), noise, offsets[first + i / 2], step));
        starts[i] = i % 2 == 0 ? seeds() : starts[i - 1];
      }
      const auto group = play(envs, policies, starts);
      returns.insert(returns.end(), group.begin(), group.end());
    }
    std::vector<rl::MirroredReturns> pairs(offsets.size());
    for (std::size_t i = 0; i < pairs.size(); ++i)
      pairs[i] = {.plus = returns[2 * i], .minus = returns[2 * i + 1]};
    search.tell(pairs);
    if (search.iteration() % 5 == 0)
      std::cout << std::setw(9) << search.iteration() << std::fixed
                << std::setprecision(1) << std::setw(31) << mean(returns) << std::endl;
  }

  for (auto& policy : policies)
    policy.set_parameters(search.parameters());
  std::vector<double> returns;
  for (int group = 0; group < 10; ++group) {
    std::vector<std::uint64_t> starts(count);
    for (auto& start : starts)
      start = seeds();
    const auto more = play(envs, policies, starts);
    returns.insert(returns.end(), more.begin(), more.end());
  }
  std::cout << "mean return " << mean(returns) << " over " << returns.size()
            << " fresh episodes\n";
}
