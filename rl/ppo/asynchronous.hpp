// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "rl/ppo/actors.hpp"
#include "rl/ppo/off_policy.hpp"

namespace fiber::rl::ppo {

/// A training for environments that are slow, or many. Supervised actors play shares of
/// the environments, each in a job, by the newest policy on a board, and put trajectories
/// into a queue; an actor that is lost is replaced. The learner, here, takes the first
/// that are there, as many as make up a rollout, and never waits for a certain actor.
///
/// The result depends on the order in which trajectories arrive: runs of equal seeds
/// differ.
class AsynchronousTraining final : public OffPolicyTraining {
public:
  explicit AsynchronousTraining(const PpoOptions& options);

  /// The first update starts the actors and throws what Supervisor::spawn() does. Throws
  /// std::runtime_error if an actor can't go on, and WorkerLost if actors are lost again
  /// and again.
  const PpoUpdate& update() override;

  std::string summary() const override;

  std::string checkpoint() const override;
  /// The actors begin new episodes.
  void restore(const std::filesystem::path& name, std::string_view checkpoint) override;

private:
  PublishedPolicy published() const;
  void collect();

  std::shared_ptr<std::atomic<std::uint64_t>> lives_; ///< Of actors, that have begun.
  double waited_ = 0, seconds_ = 0;                   ///< In this process.
  double versions_ = 0,
         trajectories_ = 0; ///< How old trajectories were, and their number.
  std::unique_ptr<Actors> actors_;
};

} // namespace fiber::rl::ppo
