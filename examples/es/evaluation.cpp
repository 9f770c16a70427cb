// SPDX-License-Identifier: Apache-2.0
#include "es/evaluation.hpp"

namespace es {

double rollout(Environment& environment, Policy& policy, Random start) {
  environment.reset(start);
  double total = 0;
  for (;;) {
    const auto step = environment.step(policy.act(environment.observation()));
    total += step.reward;
    if (step.terminated || step.truncated)
      return total;
  }
}

MirroredReturns evaluate_direction(const Generation& generation,
                                   std::span<const float> noise, std::uint64_t offset) {
  const auto environment = make_environment(generation.environment);
  auto mean_return = [&](float step) {
    Policy policy(generation.shape,
                  perturbed(generation.parameters, noise, offset, step));
    double total = 0;
    for (std::uint64_t episode = 0; episode < generation.episodes; ++episode)
      total += rollout(*environment, policy,
                       Random(generation.seed, Use::training_episode,
                              {generation.iteration, offset, episode}));
    return total / static_cast<double>(generation.episodes);
  };
  return {.plus = mean_return(generation.sigma), .minus = mean_return(-generation.sigma)};
}

double evaluate_policy(const Generation& generation, Use use, std::uint64_t episode) {
  const auto environment = make_environment(generation.environment);
  Policy policy(generation.shape, generation.parameters);
  return rollout(*environment, policy,
                 Random(generation.seed, use, {generation.iteration, episode}));
}

} // namespace es
