// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "rl/ppo/learner.hpp"
#include "rl/ppo/progress.hpp"
#include "rl/ppo/rollout.hpp"
#include "rl/ppo/trainer.hpp"

namespace fiber::rl::ppo {

/// One training: rollouts and updates in turn. What it learns follows from its options,
/// for any number of jobs; it can be saved between two updates and goes on as if nothing
/// had happened.
class Training final : public Trainer {
public:
  explicit Training(const TrainingOptions& options);

  bool done() const override;
  /// Plays a rollout and learns from it.
  const CurveRow& update() override;

  const CurveRow& last_row() const override { return progress_.row(); }
  SavedPolicy policy() const override;
  std::string summary() const override;

  void save(const std::filesystem::path& path) const override;
  bool load(const std::filesystem::path& path) override;

private:
  TrainingOptions options_;
  Rollouts rollouts_;
  Learner learner_;
  Progress progress_;
};

} // namespace fiber::rl::ppo
