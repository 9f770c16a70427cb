// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/training.hpp"

#include <chrono>

#include "fiber/rl/checkpoint_file.hpp"
#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {
namespace {

struct State {
  Rollouts::State rollouts = {};
  Learner::State learner = {};
  Progress progress = {};
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& rollouts& learner& progress;
  }
};

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

} // namespace

Training::Training(const TrainingOptions& options)
  : options_(options),
    rollouts_(options.environment, options.settings, options.seed, options.jobs),
    learner_(rollouts_.spec(),
             initial_parameters(rollouts_.spec(), seed_for(Use::networks, options.seed)),
             options.settings.update, seed_for(Use::order, options.seed)) {}

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
  auto losses = learner_.update(samples, rate, clip);
  return progress_.add(
    {.rows = samples.size(),
     .returns = rollouts_.returns(),
     .explained_variance = explained_variance(samples.values, samples.returns),
     .losses = losses,
     .learning_rate = rate,
     .seconds = seconds_since(started),
     .waited = waited});
}

SavedPolicy Training::policy() const {
  auto parameters = learner_.parameters();
  return {.environment = options_.environment,
          .spec = rollouts_.spec(),
          .parameters = {parameters.begin(), parameters.end()},
          .observations = rollouts_.observations()};
}

void Training::save(const std::filesystem::path& path) const {
  save_state(path, label_of(options_, rollouts_.spec()),
             State{rollouts_.state(), learner_.state(), progress_});
}

std::string Training::summary() const {
  auto lost = rollouts_.jobs_lost();
  return lost == 0 ? "" : std::to_string(lost) + " jobs were lost and replaced";
}

bool Training::load(const std::filesystem::path& path) {
  auto state = load_state<State>(path, label_of(options_, rollouts_.spec()));
  if (!state)
    return false;
  learner_.go_on_from(state->learner);
  rollouts_.go_on_from(state->rollouts);
  progress_ = std::move(state->progress);
  return true;
}

} // namespace fiber::rl::ppo
