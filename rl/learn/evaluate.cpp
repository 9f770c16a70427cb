// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/distributions.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {
namespace evaluated {

// Larger than the id of any environment, so that no key is one of episode_seed()'s.
constexpr std::uint64_t episodes = 0x6576616c75617465; // "evaluate"
constexpr std::uint64_t actions = 0x6576616c2d616374;  // "eval-act"

class Player {
public:
  Player(AnyEnvironment& environment, const ChooseAction& choose,
         const EvaluationOptions& options)
    : environment_(environment), choose_(choose), options_(options),
      spaces_(environment.spaces()), observation_(spaces_.observation_size()),
      action_(spaces_.action_size()) {}

  void play(std::size_t episode, Evaluation& results) {
    environment_.reset(evaluation_seed(options_.seed, episode));
    const auto draws = Random(options_.seed, {actions, episode}).next();
    double sum = 0;
    std::size_t steps = 0;
    for (bool over = false; !over;) {
      const auto step = environment_.step(action(episode, steps, draws));
      if (!std::isfinite(step.reward))
        throw std::domain_error(at(episode, steps) + "the reward is " +
                                detail::shown(step.reward));
      sum += step.reward;
      ++steps;
      over = step.terminated || step.truncated || steps == options_.step_limit;
    }
    results.returns.push_back(sum);
    results.lengths.push_back(steps);
  }

private:
  static std::string at(std::size_t episode, std::size_t step) {
    return "episode " + std::to_string(episode) + " of an evaluation, step " +
           std::to_string(step) + ": ";
  }

  std::span<const float> action(std::size_t episode, std::size_t step,
                                std::uint64_t draws) {
    environment_.observe(observation_);
    try {
      choose_(observation_, {.seed = draws, .step = step}, action_);
    } catch (const PolicyOverflow& error) {
      throw PolicyOverflow(at(episode, step) + error.what());
    } catch (const std::domain_error& error) {
      throw std::domain_error(at(episode, step) + error.what());
    }
    limit_actions(spaces_, action_);
    return action_;
  }

  AnyEnvironment& environment_;
  const ChooseAction& choose_;
  const EvaluationOptions& options_;
  const Spaces spaces_;
  std::vector<float> observation_, action_;
};

} // namespace evaluated
} // namespace

double Evaluation::mean_return() const {
  if (returns.empty())
    return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (double value : returns)
    sum += value;
  return sum / static_cast<double>(returns.size());
}

double Evaluation::deviation() const {
  const auto mean = mean_return();
  double sum = 0;
  for (double value : returns)
    sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(returns.size()));
}

std::uint64_t evaluation_seed(std::uint64_t seed, std::size_t episode) {
  return Random(seed, {evaluated::episodes, episode}).next();
}

Evaluation evaluate(AnyEnvironment& environment, const ChooseAction& choose,
                    const EvaluationOptions& options) {
  evaluated::Player player(environment, choose, options);
  Evaluation results;
  for (std::size_t i = 0; i < options.episodes; ++i)
    player.play(options.first + i, results);
  return results;
}

Evaluation evaluate(AnyEnvironment& environment, Policy& policy,
                    const FrozenNormaliser& observations,
                    const EvaluationOptions& options) {
  if (environment.spaces() != policy.spec().spaces)
    throw std::invalid_argument("the policy " + policy.spec().describe() +
                                " is for other observations or actions than the "
                                "environment's");
  std::vector<float> seen, memory(policy.spec().memory_size());
  std::vector<std::uint8_t> mask(policy.spec().spaces.mask_size());
  const PolicyContext context{.masks = mask, .memory = memory};
  const auto choose = [&](std::span<const float> observation, const SampleKey& key,
                          std::span<float> action) {
    seen.assign(observation.begin(), observation.end());
    observations.apply(seen);
    if (key.step == 0)
      std::ranges::fill(memory, 0.0F);
    environment.mask(mask);
    std::ranges::copy(options.deterministic ? policy.best(seen, context)
                                            : policy.sample(seen, key, context).actions,
                      action.begin());
  };
  return evaluate(environment, choose, options);
}

Evaluation evaluate(const std::string& environment, Policy& policy,
                    const FrozenNormaliser& observations,
                    const EvaluationOptions& options) {
  return evaluate(*make_environment(environment), policy, observations, options);
}

} // namespace fiber::rl
