// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/training.hpp"

#include <chrono>
#include <limits>
#include <numeric>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl::ppo {
namespace {

enum class Use : std::uint64_t { networks = 100, order };

std::uint64_t seed_for(Use use, std::uint64_t seed) {
  return Random(seed, {static_cast<std::uint64_t>(use)}).next();
}

struct State {
  Rollouts::State rollouts = {};
  Learner::State learner = {};
  std::vector<double> last_returns = {};
  std::uint64_t updates = 0, episodes = 0;
  double seconds = 0;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& rollouts& learner& last_returns& updates& episodes& seconds;
  }
};

FileLabel label_of(const TrainingOptions& options, const PolicySpec& spec) {
  return {.kind = "fiber-ppo-checkpoint",
          .version = 1,
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
  return (updates_ + 1) * a_rollout > options_.settings.steps;
}

const CurveRow& Training::update() {
  auto& settings = options_.settings;
  auto a_rollout = settings.envs * settings.rollout;
  auto started = Clock::now();
  rollouts_.play(learner_.parameters());
  auto waited = seconds_since(started);

  // Detail 4, an option: both shrink with the steps that are left.
  auto left =
    1 - static_cast<double>(updates_ * a_rollout) / static_cast<double>(settings.steps);
  auto rate = settings.learning_rate * (settings.anneal_learning_rate ? left : 1);
  auto clip = settings.clip_range * (settings.anneal_clip_range ? left : 1);
  auto losses = learner_.update(rollouts_.samples(), rate, clip);

  ++updates_;
  episodes_ += rollouts_.returns().size();
  last_returns_.insert(last_returns_.end(), rollouts_.returns().begin(),
                       rollouts_.returns().end());
  if (last_returns_.size() > 100)
    last_returns_.erase(last_returns_.begin(), last_returns_.end() - 100);
  auto took = seconds_since(started);
  auto& row = row_;
  row.update = updates_;
  row.steps = updates_ * a_rollout;
  row.episodes = episodes_;
  row.return_mean = mean_of_last_returns();
  row.policy_loss = losses.policy;
  row.value_loss = losses.value;
  row.entropy = losses.entropy;
  row.kl = losses.kl;
  row.clip_fraction = losses.clip_fraction;
  row.gradient_norm = losses.gradient_norm;
  row.explained_variance = rollouts_.explained_variance();
  row.learning_rate = rate;
  row.seconds += took;
  row.learner_idle = took > 0 ? waited / took : 0;
  return row;
}

double Training::mean_of_last_returns() const {
  if (last_returns_.empty())
    return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(last_returns_.begin(), last_returns_.end(), 0.0) /
         static_cast<double>(last_returns_.size());
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
             State{rollouts_.state(), learner_.state(), last_returns_, updates_,
                   episodes_, row_.seconds});
}

bool Training::load(const std::filesystem::path& path) {
  auto state = load_state<State>(path, label_of(options_, rollouts_.spec()));
  if (!state)
    return false;
  learner_.go_on_from(state->learner);
  rollouts_.go_on_from(state->rollouts);
  last_returns_ = std::move(state->last_returns);
  updates_ = state->updates;
  episodes_ = state->episodes;
  row_.update = updates_;
  row_.steps = updates_ * options_.settings.envs * options_.settings.rollout;
  row_.seconds = state->seconds;
  return true;
}

} // namespace fiber::rl::ppo
