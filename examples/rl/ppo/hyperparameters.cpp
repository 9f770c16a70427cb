// SPDX-License-Identifier: Apache-2.0
#include "hyperparameters.hpp"

#include <sstream>
#include <stdexcept>

namespace ppo {

Hyperparameters hyperparameters_of(const std::string& environment) {
  auto is = [&](const char* name) { return environment == name; };
  if (is("cartpole"))
    return {.steps = 100'000,
            .envs = 8,
            .rollout = 32,
            .gamma = 0.98,
            .lambda = 0.8,
            .learning_rate = 1e-3,
            .anneal_learning_rate = true,
            .anneal_clip_range = true,
            .update = {.minibatch = 256, .epochs = 20}};
  if (is("acrobot"))
    return {.steps = 1'000'000,
            .envs = 16,
            .rollout = 256,
            .gamma = 0.99,
            .lambda = 0.94,
            .normalise_observations = true,
            .normalise_rewards = true,
            .update = {.minibatch = 64, .epochs = 4}};
  if (is("pendulum"))
    return {.steps = 300'000,
            .envs = 4,
            .rollout = 1024,
            .gamma = 0.9,
            .lambda = 0.95,
            .learning_rate = 1e-3,
            .update = {.minibatch = 64, .epochs = 10}};
  if (is("mountain_car_continuous"))
    return {.steps = 200'000,
            .envs = 1,
            .rollout = 2048,
            .gamma = 0.9999,
            .lambda = 0.9,
            .normalise_observations = true,
            .normalise_rewards = true,
            .update = {.minibatch = 64, .epochs = 10}};
  if (is("lunar_lander"))
    return {.steps = 1'000'000,
            .envs = 16,
            .rollout = 1024,
            .gamma = 0.999,
            .lambda = 0.98,
            .update = {.minibatch = 64, .epochs = 4, .entropy_coefficient = 0.01}};
  if (is("bipedal_walker") || is("bipedal_walker_hardcore"))
    return {.steps = 5'000'000,
            .envs = 32,
            .rollout = 2048,
            .gamma = 0.999,
            .lambda = 0.95,
            .normalise_observations = true,
            .normalise_rewards = true,
            .update = {.minibatch = 64, .epochs = 10}};
  if (is("breakout") || environment.starts_with("ALE/"))
    return {.steps = 10'000'000,
            .envs = 8,
            .rollout = 128,
            .learning_rate = 2.5e-4,
            .clip_range = 0.1,
            .anneal_learning_rate = true,
            .anneal_clip_range = true,
            .sign_rewards = true,
            .update = {.minibatch = 256, .epochs = 4, .entropy_coefficient = 0.01}};
  return {.steps = 1'000'000,
          .envs = 8,
          .rollout = 256,
          .normalise_observations = true,
          .normalise_rewards = true,
          .update = {.minibatch = 64, .epochs = 10}};
}

std::string describe(const Hyperparameters& s) {
  std::ostringstream out;
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

} // namespace ppo
