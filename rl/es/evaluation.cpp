// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/evolution_evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "fiber/rl/distributions.hpp"
#include "fiber/rl/random.hpp"
#include "rl/es/keys.hpp"

namespace fiber::rl {

namespace {

namespace es_evaluation {

/// Where the parameters of the policy's network begin among those of the spec.
std::size_t first_parameter(const PolicySpec& spec) {
  return spec.spaces.discrete() ? 0
                                : spec.spaces.action_size(); // log_std is before them.
}

/// A linear layer: a weight for each input, and a bias, for each output.
std::size_t layer(std::size_t inputs, std::size_t outputs) {
  return (inputs + 1) * outputs;
}

void check_spaces(const AnyEnvironment& environment, const Generation& generation) {
  if (environment.spaces() != generation.policy.spaces)
    throw std::invalid_argument("the policy was made for an environment of other spaces");
}

[[noreturn]] void refuse(std::uint64_t seed, std::size_t step, const std::string& what) {
  throw std::domain_error("step " + std::to_string(step) + " of the episode with seed " +
                          std::to_string(seed) + ": " + what);
}

/// `step`: how many steps were before it.
void check_observation(std::span<const float> observation, std::uint64_t seed,
                       std::size_t step) {
  const auto broken = std::ranges::find_if(
    observation, [](float number) { return !std::isfinite(number); });
  if (broken != observation.end())
    refuse(seed, step,
           "number " + std::to_string(broken - observation.begin()) +
             " of the observation is " + detail::shown(*broken));
}

} // namespace es_evaluation

} // namespace

PolicySpec evolved_policy(const Spaces& spaces, std::vector<std::size_t> hidden) {
  PolicySpec spec;
  spec.spaces = spaces;
  spec.hidden = std::move(hidden);
  spec.check();
  return spec;
}

std::size_t evolved_parameter_count(const PolicySpec& spec) {
  auto count = std::size_t{0};
  auto inputs = spec.spaces.observation_size();
  for (auto units : spec.hidden)
    count += es_evaluation::layer(std::exchange(inputs, units), units);
  return count + es_evaluation::layer(inputs, spec.outputs());
}

std::size_t evolved_weight_count(const PolicySpec& spec) {
  if (!spec.hidden.empty())
    throw std::invalid_argument("only a linear policy can do without biases; " +
                                spec.describe() + " has hidden layers");
  return evolved_parameter_count(spec) - spec.outputs();
}

std::vector<float> initial_evolved_parameters(const PolicySpec& spec,
                                              std::uint64_t seed) {
  const auto all = initial_parameters(spec, seed);
  const auto part = std::span(all).subspan(es_evaluation::first_parameter(spec),
                                           evolved_parameter_count(spec));
  return {part.begin(), part.end()};
}

EvolvedPolicy::EvolvedPolicy(const PolicySpec& spec, std::span<const float> parameters,
                             FrozenNormaliser normaliser)
  : all_(spec.parameter_count()), network_(spec, all_),
    normaliser_(std::move(normaliser)), input_(spec.spaces.observation_size()),
    action_(spec.spaces.action_size()) {
  if (spec.lstm > 0)
    throw std::invalid_argument("evolution strategies have policies without memory: "
                                "PolicySpec::lstm must be 0, not " +
                                std::to_string(spec.lstm));
  set_parameters(parameters);
}

void EvolvedPolicy::set_parameters(std::span<const float> parameters) {
  const auto& spec = network_.spec();
  const auto count = evolved_parameter_count(spec);
  const bool weights =
    spec.hidden.empty() && parameters.size() == evolved_weight_count(spec);
  if (parameters.size() != count && !weights)
    throw std::invalid_argument("the policy " + spec.describe() + " has " +
                                std::to_string(count) + " parameters, not " +
                                std::to_string(parameters.size()));
  const auto first = static_cast<std::ptrdiff_t>(es_evaluation::first_parameter(spec));
  const auto rest = std::ranges::copy(parameters, all_.begin() + first).out;
  std::fill_n(rest, count - parameters.size(), 0.0F);
  network_.set_parameters(all_);
}

std::span<const float> EvolvedPolicy::network_parameters() const {
  const auto& spec = network_.spec();
  return std::span(all_).subspan(es_evaluation::first_parameter(spec),
                                 evolved_parameter_count(spec));
}

std::span<const float> EvolvedPolicy::act(std::span<const float> observation,
                                          std::span<const std::uint8_t> mask) {
  std::ranges::copy(observation, input_.begin());
  normaliser_.apply(input_);
  std::ranges::copy(network_.best(input_, {.masks = mask}), action_.begin());
  limit_actions(network_.spec().spaces, action_);
  return action_;
}

double rollout(AnyEnvironment& environment, EvolvedPolicy& policy, std::uint64_t seed,
               RunningMoments* seen, double offset) {
  std::vector<float> observation(environment.spaces().observation_size());
  std::vector<std::uint8_t> mask(environment.spaces().mask_size());
  environment.reset(seed);
  double total = 0;
  for (std::size_t steps = 0; steps < max_rollout_steps; ++steps) {
    environment.observe(observation);
    es_evaluation::check_observation(observation, seed, steps);
    if (seen != nullptr)
      seen->add(std::span<const float>(observation));
    environment.mask(mask);
    Step step;
    try {
      step = environment.step(policy.act(observation, mask));
    } catch (const PhysicsDiverged&) {
      return total; // One candidate in many: the search continues.
    }
    if (!std::isfinite(step.reward))
      es_evaluation::refuse(seed, steps + 1,
                            "the reward is " + detail::shown(step.reward));
    total += step.reward + offset;
    if (step.terminated || step.truncated)
      return total;
  }
  throw std::runtime_error("the episode with seed " + std::to_string(seed) +
                           " has not ended after " + std::to_string(max_rollout_steps) +
                           " steps: set `truncated` at a step limit");
}

DirectionResult evaluate_direction(AnyEnvironment& environment,
                                   const Generation& generation,
                                   std::span<const float> noise, std::uint64_t offset) {
  es_evaluation::check_spaces(environment, generation);
  RunningMoments seen(generation.policy.spaces.observation_size());
  Random draw(generation.seed, {es::statistics, generation.iteration, offset});
  const bool counts = draw.uniform() < generation.counted_share;
  EvolvedPolicy policy(generation.policy, generation.parameters, generation.normaliser);
  auto mean_return = [&](float step) {
    policy.set_parameters(perturbed(generation.parameters, noise, offset, step));
    double total = 0;
    for (std::uint64_t episode = 0; episode < generation.episodes; ++episode) {
      Random seeds(generation.seed,
                   {es::training_episode, generation.iteration, offset, episode});
      total += rollout(environment, policy, seeds.next(), counts ? &seen : nullptr,
                       generation.alive_bonus_offset);
    }
    return total / static_cast<double>(generation.episodes);
  };
  DirectionResult result;
  result.returns.plus = mean_return(generation.sigma);
  result.returns.minus = mean_return(-generation.sigma);
  if (counts)
    result.seen = std::move(seen);
  return result;
}

double evaluate_policy(AnyEnvironment& environment, const Generation& generation,
                       Judgement judgement, std::uint64_t episode) {
  es_evaluation::check_spaces(environment, generation);
  EvolvedPolicy policy(generation.policy, generation.parameters, generation.normaliser);
  const auto key = judgement == Judgement::evaluation ? es::evaluation_episode
                                                      : es::confirmation_episode;
  return rollout(environment, policy,
                 Random(generation.seed, {key, generation.iteration, episode}).next());
}

} // namespace fiber::rl
