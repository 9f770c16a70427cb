// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/asynchronous.hpp"

#include <chrono>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/detail/formatted.hpp"
#include "fiber/rl/environments.hpp"
#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct AsynchronousState {
  TrajectoryBatch::State statistics = {};
  Learner::State learner = {};
  Progress progress = {};
  std::uint64_t lives = 0;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& statistics& learner& progress& lives;
  }
};

/// Another number of actors may go on from it.
FileLabel asynchronous_label(const PpoOptions& options, const PolicySpec& spec) {
  return {.kind = "fiber-ppo-asynchronous-checkpoint",
          .version = 1,
          .settings = {{"environment", options.environment},
                       {"network", spec.describe()},
                       {"seed", std::to_string(options.seed)},
                       {"settings", options.describe()}}};
}

} // namespace

AsynchronousTraining::AsynchronousTraining(const PpoOptions& options)
  : options_(options),
    spec_(options.policy_spec(make_environment(options.environment)->spaces())),
    learner_(spec_, initial_parameters(spec_, seed_for(Use::networks, options.seed)),
             options, seed_for(Use::order, options.seed)),
    batch_(options, spec_), lives_(new std::atomic<std::uint64_t>(0)) {}

bool AsynchronousTraining::done() const {
  auto a_rollout = options_.envs * options_.rollout;
  return last_row().steps + a_rollout > options_.steps;
}

PublishedPolicy AsynchronousTraining::published() const {
  return {last_row().update, share(learner_.parameters()), batch_.observations()};
}

const PpoUpdate& AsynchronousTraining::update() {
  if (!actors_)
    actors_ = std::make_unique<Actors>(options_, spec_, published(), lives_);
  auto started = Clock::now();
  collect();
  auto waited = seconds_since(started);
  auto [rate, clip] = rates_after(last_row().steps, options_);
  auto samples = batch_.samples(learner_);
  auto variance = explained_variance(samples.values, samples.returns);
  auto losses = learner_.update(samples, rate, clip);
  auto took = seconds_since(started);
  waited_ += waited;
  seconds_ += took;
  progress_.add({.rows = samples.size(),
                 .returns = batch_.returns(),
                 .explained_variance = variance,
                 .losses = losses,
                 .learning_rate = rate,
                 .seconds = took,
                 .waited = waited});
  actors_->publish(published());
  return last_row();
}

void AsynchronousTraining::collect() {
  batch_.clear();
  while (batch_.rows() < options_.envs * options_.rollout) {
    auto trajectory = actors_->take();
    versions_ += static_cast<double>(last_row().update - trajectory.version);
    ++trajectories_;
    batch_.add(trajectory);
  }
}

SavedPolicy AsynchronousTraining::policy() const {
  auto parameters = learner_.parameters();
  return {.environment = options_.environment,
          .spec = spec_,
          .parameters = {parameters.begin(), parameters.end()},
          .observations = batch_.observations()};
}

std::string AsynchronousTraining::summary() const {
  if (!actors_)
    return "";
  return detail::formatted(
    "%zu actors, %zu times lost and replaced; trajectories %.1f updates old on "
    "average; learner idle %.1f %%",
    options_.actors, actors_->lost(), versions_ / trajectories_,
    100 * waited_ / seconds_);
}

std::string AsynchronousTraining::checkpoint() const {
  return pack_state(
    asynchronous_label(options_, spec_),
    AsynchronousState{batch_.state(), learner_.state(), progress_, lives_->load()});
}

void AsynchronousTraining::restore(const std::filesystem::path& name,
                                   std::string_view checkpoint) {
  auto state = unpack_state<AsynchronousState>(name, checkpoint,
                                               asynchronous_label(options_, spec_));
  batch_.go_on_from(state.statistics);
  learner_.go_on_from(state.learner);
  progress_ = std::move(state.progress);
  *lives_ = state.lives;
}

} // namespace fiber::rl::ppo
