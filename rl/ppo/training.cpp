// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/training.hpp"

#include <chrono>
#include <utility>

#include "fiber/rl/checkpoint_file.hpp"
#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {
namespace {

FileLabel label_of(const TrainingOptions& options, const PolicySpec& spec) {
  return {.kind = "fiber-ppo-checkpoint",
          .version = 2,
          .settings = {{"environment", options.environment},
                       {"network", spec.describe()},
                       {"seed", std::to_string(options.seed)},
                       {"settings", describe(options.settings)}}};
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One learner's part of all environments and of each minibatch.
Hyperparameters part_of(Hyperparameters settings, const Peers* peers) {
  if (peers != nullptr) {
    settings.envs /= peers->size();
    settings.update.minibatch /= peers->size();
  }
  return settings;
}

} // namespace

Training::Training(const TrainingOptions& options, Peers* peers)
  : options_(options), peers_(peers),
    rollouts_(options.environment, part_of(options.settings, peers),
              seed_of_learner(peers == nullptr ? 0 : peers->rank(), options.seed),
              options.jobs),
    learner_(rollouts_.spec(),
             initial_parameters(rollouts_.spec(), seed_for(Use::networks, options.seed)),
             part_of(options.settings, peers).update,
             seed_for(Use::order, options.seed)) {
  if (peers_ != nullptr)
    learner_.set_average([this](std::span<float> numbers) { peers_->average(numbers); });
}

bool Training::done() const {
  auto a_rollout = options_.settings.envs * options_.settings.rollout;
  return last_row().steps + a_rollout > options_.settings.steps;
}

const CurveRow& Training::update() {
  auto started = Clock::now();
  rollouts_.play(learner_.parameters());
  auto waited = seconds_since(started);
  auto [rate, clip] = rates_after(last_row().steps, options_.settings);
  auto samples = rollouts_.samples();
  auto told = of_all({rollouts_.seen(), rollouts_.returns(),
                      explained_variance(samples.values, samples.returns)});
  auto losses = learner_.update(samples, rate, clip);
  return progress_.add({.rows = options_.settings.envs * options_.settings.rollout,
                        .returns = told.returns,
                        .explained_variance = told.explained_variance,
                        .losses = losses,
                        .learning_rate = rate,
                        .seconds = seconds_since(started),
                        .waited = waited});
}

/// Returns what all learners say together; of the variances, the mean.
Training::Told Training::of_all(Told own) {
  if (peers_ == nullptr)
    return own;
  Told all;
  std::vector<RunningMoments> seen;
  for (auto& bytes : peers_->gather(packed(own))) {
    auto told = unpacked<Told>(bytes);
    seen.push_back(std::move(told.seen));
    all.returns.insert(all.returns.end(), told.returns.begin(), told.returns.end());
    all.explained_variance +=
      told.explained_variance / static_cast<double>(peers_->size());
  }
  if (options_.settings.normalise_observations)
    rollouts_.replace_seen(seen);
  return all;
}

SavedPolicy Training::policy() const {
  auto parameters = learner_.parameters();
  return {.environment = options_.environment,
          .spec = rollouts_.spec(),
          .parameters = {parameters.begin(), parameters.end()},
          .observations = rollouts_.observations()};
}

void Training::save(const std::filesystem::path& path) const {
  save_state(path, label_of(options_, rollouts_.spec()), state());
}

Training::State Training::state() const {
  return {rollouts_.state(), learner_.state(), progress_};
}

void Training::go_on_from(State state) {
  learner_.go_on_from(state.learner);
  rollouts_.go_on_from(state.rollouts);
  progress_ = std::move(state.progress);
}

void Training::begin_with(const Learner::State& learner,
                          const ObservationNormaliser& observations,
                          const RewardNormaliser& rewards) {
  learner_.go_on_from(learner);
  rollouts_.begin_with(observations, rewards);
}

std::string Training::summary() const {
  auto lost = rollouts_.jobs_lost();
  return lost == 0 ? "" : std::to_string(lost) + " jobs were lost and replaced";
}

bool Training::load(const std::filesystem::path& path) {
  auto state = load_state<State>(path, label_of(options_, rollouts_.spec()));
  if (!state)
    return false;
  go_on_from(std::move(*state));
  return true;
}

} // namespace fiber::rl::ppo
