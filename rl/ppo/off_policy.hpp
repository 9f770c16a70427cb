// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "fiber/rl/checkpoint_file.hpp"
#include "rl/ppo/learner.hpp"
#include "rl/ppo/progress.hpp"
#include "rl/ppo/trainer.hpp"
#include "rl/ppo/trajectory_batch.hpp"

namespace fiber::rl::ppo {

/// What AsynchronousTraining and OverlappedTraining share: both learn from trajectories
/// that older policies played.
class OffPolicyTraining : public Trainer {
public:
  explicit OffPolicyTraining(const PpoOptions& options);

  bool done() const override { return !has_steps_for(1); }
  const PpoUpdate& last_row() const override { return progress_.row(); }
  std::string network() const override { return spec_.describe(); }
  SavedPolicy policy() const override;

protected:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point start);

  /// Whether the steps that are left are enough for so many rollouts.
  bool has_steps_for(std::size_t rollouts) const;
  /// Learns from batch_. The caller adds the times to the record.
  UpdateRecord learn();
  FileLabel label(const std::string& kind, unsigned version) const;

  PpoOptions options_;
  PolicySpec spec_;
  Learner learner_;
  TrajectoryBatch batch_;
  Progress progress_;
};

} // namespace fiber::rl::ppo
