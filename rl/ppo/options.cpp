// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/ppo_options.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "fiber/detail/classic_locale.hpp"
#include "rl/env/robots.hpp"

namespace fiber::rl {

namespace {

/// What a row of the table below gives: the samples of a minibatch, and how often an
/// update sees each.
struct Passes {
  std::size_t minibatch;
  int epochs;
};

PpoOptions settings(std::uint64_t steps, std::size_t envs, std::size_t rollout,
                    double gamma, double lambda, Passes passes) {
  PpoOptions result;
  result.steps = steps;
  result.envs = envs;
  result.rollout = rollout;
  result.gamma = gamma;
  result.lambda = lambda;
  result.minibatch = passes.minibatch;
  result.epochs = passes.epochs;
  return result;
}

PpoOptions annealed(double learning_rate, double clip_range, PpoOptions of) {
  of.learning_rate = learning_rate;
  of.clip_range = clip_range;
  of.anneal_learning_rate = of.anneal_clip_range = true;
  return of;
}

PpoOptions normalised(PpoOptions of) {
  of.normalise_observations = of.normalise_rewards = true;
  return of;
}

/// The policy has to remember what it saw, to tell speeds from positions.
PpoOptions recurrent(PpoOptions of) {
  of.hidden = {{32}};
  of.lstm = 32;
  of.normalise_rewards = true;
  return of;
}

PpoOptions of_images(std::uint64_t steps, double learning_rate, int epochs) {
  auto result =
    annealed(learning_rate, 0.1, settings(steps, 8, 128, 0.99, 0.95, {256, epochs}));
  result.entropy_coefficient = 0.01;
  result.sign_rewards = true;
  return result;
}

/// The settings of CleanRL's ppo_continuous_action.py, by which its published table of
/// MuJoCo's environments was made (Huang et al. 2022, continuous control).
PpoOptions of_mujoco() {
  auto result = normalised(settings(1'000'000, 1, 2048, 0.99, 0.95, {64, 10}));
  result.anneal_learning_rate = true;
  result.clip_values = true;
  return result;
}

PpoOptions defaults_by_name(const std::string& environment) {
  auto is = [&](const char* name) { return environment == name; };
  if (is("cartpole")) {
    auto result = annealed(2e-3, 0.2, settings(100'000, 8, 32, 0.98, 0.8, {256, 10}));
    result.target_kl = 0.02;
    return result;
  }
  if (is("cartpole_no_velocity")) {
    auto result =
      recurrent(annealed(1e-3, 0.2, settings(300'000, 16, 64, 0.99, 0.95, {256, 10})));
    result.target_kl = 0.02;
    return result;
  }
  if (is("pendulum_no_velocity"))
    return recurrent(
      annealed(1e-3, 0.2, settings(300'000, 16, 128, 0.95, 0.95, {256, 10})));
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
  if (is("lunar_lander")) {
    auto result = settings(1'000'000, 16, 1024, 0.999, 0.98, {64, 4});
    result.entropy_coefficient = 0.01;
    return result;
  }
  if (is("bipedal_walker") || is("bipedal_walker_hardcore"))
    return normalised(settings(5'000'000, 32, 2048, 0.999, 0.95, {64, 10}));
  if (is("knights_tour")) {
    auto result = settings(300'000, 16, 128, 0.99, 0.95, {256, 4});
    result.learning_rate = 1e-3;
    result.anneal_learning_rate = true;
    return result;
  }
  if (is("breakout"))
    return of_images(700'000, 5e-4, 3);
  if (environment.starts_with("ALE/"))
    return of_images(10'000'000, 2.5e-4, 4);
  if (robot_of(environment))
    return of_mujoco();
  return normalised(settings(1'000'000, 8, 256, 0.99, 0.95, {64, 10}));
}

bool is_numbered_gpu(std::string_view device) {
  constexpr std::string_view start = "cuda:";
  return device.starts_with(start) && device.size() > start.size() &&
         device.size() <= start.size() + 2 &&
         device.find_first_not_of("0123456789", start.size()) == std::string_view::npos;
}

} // namespace

PpoOptions ppo_defaults(const std::string& environment) {
  auto result = defaults_by_name(environment);
  result.environment = environment;
  return result;
}

std::string PpoOptions::describe() const {
  fiber::detail::Classic<std::ostringstream> out;
  out << steps << " steps, " << envs << " x " << rollout << ", minibatch " << minibatch
      << ", " << epochs << " epochs, gamma " << gamma << ", lambda " << lambda
      << ", learning rate " << learning_rate << (anneal_learning_rate ? " to 0" : "")
      << ", clip range " << clip_range << (anneal_clip_range ? " to 0" : "") << ", value "
      << value_coefficient << (clip_values ? " clipped" : "") << ", entropy "
      << entropy_coefficient << ", gradient " << max_gradient_norm << ", KL " << target_kl
      << (normalise_observations ? ", observations normalised" : "")
      << (normalise_rewards ? ", rewards normalised" : "")
      << (sign_rewards ? ", signs of rewards" : "")
      << (normalise_advantages ? "" : ", advantages as they are")
      << (overlap ? ", overlapped" : "");
  return out.str();
}

void PpoOptions::check() const {
  auto require = [](bool right, const std::string& what) {
    if (!right)
      throw std::invalid_argument(what);
  };
  auto require_multiple = [&](const char* name, std::size_t value) {
    require(value % learners == 0,
            std::string(name) + " must be a multiple of learners, " +
              std::to_string(learners) + ", not " + std::to_string(value));
  };
  require(envs > 0, "envs must be at least 1");
  require(rollout > 0, "rollout must be at least 1");
  require(envs * rollout > 1, "a rollout must have at least 2 rows: envs times rollout");
  require(steps >= envs * rollout,
          "steps must be at least one rollout: envs times rollout, " +
            std::to_string(envs * rollout));
  require(minibatch > 1, "minibatch must be at least 2");
  require(epochs > 0, "epochs must be at least 1");
  require(gamma > 0 && gamma <= 1, "gamma must be above 0 and at most 1");
  require(lambda >= 0 && lambda <= 1, "lambda must be from 0 to 1");
  require(learning_rate > 0, "the learning rate must be above 0");
  require(clip_range > 0, "the clip range must be above 0");
  require(max_gradient_norm > 0,
          "the norm at which gradients are clipped must be above 0");
  require(value_coefficient >= 0, "the weight of the value loss must be at least 0");
  require(std::isfinite(entropy_coefficient), "the weight of the entropy must be finite");
  require(target_kl >= 0, "target_kl must be at least 0");
  require(learners > 0, "learners must be at least 1");
  require((jobs > 0) + (actors > 0) + (learners > 1) <= 1,
          "at most one of jobs, actors and learners can play the environments");
  require(actors <= envs, "actors must be at most the number of environments, " +
                            std::to_string(envs) + ", not " + std::to_string(actors));
  require(
    !overlap || (actors == 0 && learners == 1),
    "overlap is not for actors, which play while the learner learns anyway, nor for "
    "learners");
  require(lstm == 0 || (actors == 0 && !overlap),
          "with actors and with overlap, policies have no memory: lstm must be 0, not " +
            std::to_string(lstm) + "; use jobs or learners for a recurrent policy");
  require(lstm == 0 || learners == 1 || on_error == OnError::stop,
          "on_error must be stop if several learners train a recurrent policy, because "
          "they need equal numbers of rows");
  require(!step_timeout || jobs > 0, "step_timeout needs jobs: only the end of a process "
                                     "interrupts an environment that hangs");
  require(device == "cpu" || device == "cuda" || is_numbered_gpu(device),
          "device must be cpu, cuda, or cuda:N for GPU number N, counted from 0, not '" +
            device + '\'');
  require_multiple("envs", envs);
  require_multiple("minibatch", minibatch);
  require(minibatch / learners > 1, "minibatch must be at least 2 for each of learners");
}

PolicySpec PpoOptions::policy_spec(const Spaces& spaces) const {
  auto spec = default_policy(spaces);
  if (hidden)
    spec.hidden = *hidden;
  if (activation)
    spec.activation = *activation;
  spec.lstm = lstm;
  spec.check();
  if (!spec.convolution && device != "cpu")
    throw std::invalid_argument(
      "device " + device + ": the network " + spec.describe() +
      " is trained on the CPU by Eigen, which is faster for networks that small. Leave "
      "device at cpu, or learn from images or with a network of your own");
  return spec;
}

} // namespace fiber::rl
