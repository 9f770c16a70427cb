// SPDX-License-Identifier: Apache-2.0
// Records how long episodes of BipedalWalkerHardcore take: paper_walks [EPISODES]. Each
// has another random policy with POET's 2,804 parameters and another terrain. Prints CSV:
// steps, return. bench/paper/walks.csv is its output. Steps all take about the same time,
// and their number, unlike the time, does not depend on what else the machine does.

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include <fiber/rl/bipedal_walker.hpp>
#include <fiber/rl/evolution_evaluation.hpp>
#include <fiber/rl/random.hpp>

namespace {

namespace rl = fiber::rl;

/// Counts the steps of a walker.
struct CountedWalker : rl::BipedalWalkerHardcore {
  static inline std::uint64_t steps = 0;
  rl::Step step(Action action) {
    ++steps;
    return BipedalWalkerHardcore::step(action);
  }
};

} // namespace

int main(int argc, char** argv) {
  const std::uint64_t episodes = argc > 1 ? std::stoull(argv[1]) : 2048;
  const auto walker = rl::erase<CountedWalker>();
  const auto spec = rl::evolved_policy(walker->spaces(), {40, 40});
  std::puts("steps,return");
  for (std::uint64_t episode = 0; episode < episodes; ++episode) {
    auto parameters = rl::initial_evolved_parameters(spec, episode);
    rl::Random noise(episode);
    for (auto& parameter : parameters)
      parameter += 0.1f * static_cast<float>(noise.normal()); // As es_train's candidates.
    rl::EvolvedPolicy policy(spec, parameters, {});
    CountedWalker::steps = 0;
    const auto total = rl::rollout(*walker, policy, episode);
    std::printf("%llu,%.1f\n", static_cast<unsigned long long>(CountedWalker::steps),
                total);
  }
}
