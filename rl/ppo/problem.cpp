// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/evaluate.hpp"
#include "fiber/rl/ppo_problem.hpp"
#include "fiber/rl/random.hpp"
#include "rl/ppo/training.hpp"

namespace fiber::rl {
namespace {

// What a stream of random numbers is for: the first part of its key.
constexpr std::uint64_t first_networks = 401;
constexpr std::uint64_t rounds = 402;
constexpr std::uint64_t judgement = 403;

PpoOptions settings_of(const PpoProblem& problem) {
  auto settings = ppo_defaults(problem.environment);
  const auto rollout = settings.envs * settings.rollout;
  settings.steps = std::max<std::uint64_t>(1, (problem.steps + rollout - 1) / rollout);
  settings.steps *= rollout;
  settings.anneal_learning_rate = settings.anneal_clip_range = false;
  settings.target_kl = 0; // It would hide what a learning rate does.
  return settings;
}

ppo::Training training_of(const PpoProblem& problem, std::uint64_t seed,
                          PpoOptions settings) {
  settings.environment = problem.environment;
  settings.seed = seed;
  return ppo::Training(settings);
}

PpoProblem::State learned_by(const ppo::Training& training) {
  auto state = training.state();
  return {std::move(state.learner), std::move(state.rollouts.observations),
          std::move(state.rollouts.rewards)};
}

double mean_return(const SavedPolicy& policy, std::size_t episodes, std::uint64_t seed) {
  Policy player(policy.spec, policy.parameters);
  return evaluate(policy.environment, player, policy.observations,
                  {.episodes = episodes, .seed = seed})
    .mean_return();
}

} // namespace

std::vector<HyperparameterRange> PpoProblem::ranges() {
  return {{"learning rate", 1e-5, 1e-2, true},
          {"entropy weight", 1e-5, 1e-1, true},
          {"clip range", 0.05, 0.5, true}};
}

PolicySpec PpoProblem::spec() const {
  return ppo_defaults(environment).policy_spec(make_environment(environment)->spaces());
}

PpoProblem::State PpoProblem::start(std::uint64_t member) const {
  return learned_by(training_of(*this, Random(seed, {first_networks, member}).next(),
                                settings_of(*this)));
}

double PpoProblem::train(State& state, const Hyperparameters& values,
                         std::uint64_t member, std::uint64_t round) const {
  auto settings = settings_of(*this);
  settings.learning_rate = values.at(0);
  settings.entropy_coefficient = values.at(1);
  settings.clip_range = values.at(2);
  settings.check();
  // A seed of its own for each member and round, so that copies do not repeat each other.
  const auto drawn = Random(seed, {rounds, member, round}).next();
  auto training = training_of(*this, drawn, settings);
  training.begin_with(state.learner, state.observations, state.rewards);
  auto score = std::numeric_limits<double>::quiet_NaN();
  try {
    try {
      while (!training.done())
        training.update();
    } catch (const ppo::Diverged&) { // The networks are the last that were finite.
    }
    score = mean_return(saved(learned_by(training)), evaluations, drawn);
  } catch (const PolicyOverflow&) { // The score stays NaN, which is the worst.
  }
  state = learned_by(training);
  return score;
}

double PpoProblem::judge(const State& state, std::size_t episodes) const {
  return mean_return(saved(state), episodes, Random(seed, {judgement}).next());
}

SavedPolicy PpoProblem::saved(const State& state) const {
  return {.environment = environment,
          .spec = spec(),
          .parameters = state.learner.parameters,
          .observations = settings_of(*this).normalise_observations
                            ? state.observations.frozen()
                            : FrozenNormaliser()};
}

std::map<std::string, std::string> PpoProblem::settings() const {
  return {{"trainer", "ppo"},
          {"round", std::to_string(steps) + " steps, " + std::to_string(evaluations) +
                      " evaluations"},
          {"settings", settings_of(*this).describe()}};
}

} // namespace fiber::rl
