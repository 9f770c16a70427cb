// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/hyperparameters.hpp"

#include <sstream>
#include <stdexcept>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::rl::ppo {

namespace {

Hyperparameters settings(std::uint64_t steps, std::size_t envs, std::size_t rollout,
                         double gamma, double lambda, UpdateOptions update) {
  Hyperparameters result;
  result.steps = steps;
  result.envs = envs;
  result.rollout = rollout;
  result.gamma = gamma;
  result.lambda = lambda;
  result.update = update;
  return result;
}

Hyperparameters annealed(double learning_rate, double clip_range, Hyperparameters of) {
  of.learning_rate = learning_rate;
  of.clip_range = clip_range;
  of.anneal_learning_rate = of.anneal_clip_range = true;
  return of;
}

Hyperparameters normalised(Hyperparameters of) {
  of.normalise_observations = of.normalise_rewards = true;
  return of;
}

Hyperparameters of_images(std::uint64_t steps, double learning_rate, int epochs) {
  UpdateOptions update{.minibatch = 256, .epochs = epochs, .entropy_coefficient = 0.01};
  auto result = annealed(learning_rate, 0.1, settings(steps, 8, 128, 0.99, 0.95, update));
  result.sign_rewards = true;
  return result;
}

} // namespace

// steps, environments, steps of each a rollout, gamma, lambda, {minibatch, epochs, ...}.
Hyperparameters hyperparameters_of(const std::string& environment) {
  auto is = [&](const char* name) { return environment == name; };
  UpdateOptions curious{.minibatch = 64, .epochs = 4, .entropy_coefficient = 0.01};
  if (is("cartpole"))
    return annealed(2e-3, 0.2,
                    settings(100'000, 8, 32, 0.98, 0.8,
                             {.minibatch = 256, .epochs = 10, .target_kl = 0.02}));
  if (is("acrobot"))
    return normalised(settings(1'000'000, 16, 256, 0.99, 0.94, {64, 4}));
  if (is("pendulum")) {
    auto result = settings(300'000, 4, 1024, 0.9, 0.95, {64, 10});
    result.learning_rate = 1e-3;
    result.anneal_learning_rate = true;
    return result;
  }
  if (is("mountain_car_continuous"))
    return normalised(settings(200'000, 1, 2048, 0.9999, 0.9, {64, 10}));
  if (is("lunar_lander"))
    return settings(1'000'000, 16, 1024, 0.999, 0.98, curious);
  if (is("bipedal_walker") || is("bipedal_walker_hardcore"))
    return normalised(settings(5'000'000, 32, 2048, 0.999, 0.95, {64, 10}));
  if (is("breakout"))
    return of_images(700'000, 5e-4, 3);
  if (environment.starts_with("ALE/"))
    return of_images(10'000'000, 2.5e-4, 4);
  return normalised(settings(1'000'000, 8, 256, 0.99, 0.95, {64, 10}));
}

std::string describe(const Hyperparameters& s) {
  fiber::detail::Classic<std::ostringstream> out;
  out << s.steps << " steps, " << s.envs << " x " << s.rollout << ", minibatch "
      << s.update.minibatch << ", " << s.update.epochs << " epochs, gamma " << s.gamma
      << ", lambda " << s.lambda << ", learning rate " << s.learning_rate
      << (s.anneal_learning_rate ? " to 0" : "") << ", clip range " << s.clip_range
      << (s.anneal_clip_range ? " to 0" : "") << ", value " << s.update.value_coefficient
      << (s.update.clip_values ? " clipped" : "") << ", entropy "
      << s.update.entropy_coefficient << ", gradient " << s.update.max_gradient_norm
      << ", KL " << s.update.target_kl
      << (s.normalise_observations ? ", observations normalised" : "")
      << (s.normalise_rewards ? ", rewards normalised" : "")
      << (s.sign_rewards ? ", signs of rewards" : "");
  return out.str();
}

void check(const Hyperparameters& s) {
  auto require = [](bool right, const char* what) {
    if (!right)
      throw std::invalid_argument(what);
  };
  require(s.envs > 0, "--envs must be at least 1");
  require(s.rollout > 0, "--rollout must be at least 1");
  require(s.envs * s.rollout > 1, "a rollout must have at least 2 rows: see --envs");
  require(s.steps >= s.envs * s.rollout,
          "--steps must be at least one rollout: --envs times --rollout");
  require(s.update.minibatch > 1, "--minibatch must be at least 2");
  require(s.update.epochs > 0, "--epochs must be at least 1");
  require(s.gamma > 0 && s.gamma <= 1, "--gamma must be above 0 and at most 1");
  require(s.lambda >= 0 && s.lambda <= 1, "--lambda must be from 0 to 1");
  require(s.learning_rate > 0, "--learning-rate must be above 0");
  require(s.clip_range > 0, "--clip-range must be above 0");
}

} // namespace fiber::rl::ppo
