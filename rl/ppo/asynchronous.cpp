// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/asynchronous.hpp"

#include "fiber/rl/detail/formatted.hpp"

namespace fiber::rl::ppo {
namespace {

constexpr const char* asynchronous_kind = "fiber-ppo-asynchronous-checkpoint";

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

} // namespace

AsynchronousTraining::AsynchronousTraining(const PpoOptions& options)
  : OffPolicyTraining(options), lives_(new std::atomic<std::uint64_t>(0)) {}

PublishedPolicy AsynchronousTraining::published() const {
  return {last_row().update, share(learner_.parameters()), batch_.observations()};
}

const PpoUpdate& AsynchronousTraining::update() {
  if (!actors_)
    actors_ = std::make_unique<Actors>(options_, spec_, published(), lives_);
  auto started = Clock::now();
  collect();
  auto waited = seconds_since(started);
  auto record = learn();
  record.waited = waited;
  record.seconds = seconds_since(started);
  waited_ += record.waited;
  seconds_ += record.seconds;
  progress_.add(record);
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

std::string AsynchronousTraining::summary() const {
  if (!actors_)
    return "";
  const auto failures = batch_.failures().describe();
  return detail::formatted(
           "%zu actors, %zu times lost and replaced; trajectories %.1f updates old on "
           "average; learner idle %.1f %%",
           options_.actors, actors_->lost(), versions_ / trajectories_,
           100 * waited_ / seconds_) +
         (failures.empty() ? "" : "; ") + failures;
}

// Another number of actors may continue from a checkpoint.
std::string AsynchronousTraining::checkpoint() const {
  return pack_state(
    label(asynchronous_kind, 1),
    AsynchronousState{batch_.state(), learner_.state(), progress_, lives_->load()});
}

void AsynchronousTraining::restore(const std::filesystem::path& name,
                                   std::string_view checkpoint) {
  auto state =
    unpack_state<AsynchronousState>(name, checkpoint, label(asynchronous_kind, 1));
  batch_.go_on_from(state.statistics);
  learner_.go_on_from(state.learner);
  progress_ = std::move(state.progress);
  *lives_ = state.lives;
}

} // namespace fiber::rl::ppo
