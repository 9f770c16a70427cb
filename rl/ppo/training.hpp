// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fiber/rl/saved_policy.hpp"
#include "rl/ppo/curve.hpp"
#include "rl/ppo/hyperparameters.hpp"
#include "rl/ppo/learner.hpp"
#include "rl/ppo/rollout.hpp"

namespace fiber::rl::ppo {

struct TrainingOptions {
  std::string environment = "cartpole";
  std::uint64_t seed = 1;
  std::size_t jobs = 0; ///< That the environments are spread over; 0: in this process.
  Hyperparameters settings = {};
};

/// One training: rollouts and updates in turn. What it learns follows from its options,
/// for any number of jobs; it can be saved between two updates and goes on as if nothing
/// had happened.
class Training {
public:
  explicit Training(const TrainingOptions& options);

  /// Whether all steps are done.
  bool done() const;
  /// Plays a rollout and learns from it.
  const CurveRow& update();

  const CurveRow& last_row() const { return row_; }
  SavedPolicy policy() const;
  std::size_t jobs_lost() const { return rollouts_.jobs_lost(); }

  /// Saves all that is needed to go on. Throws std::system_error.
  void save(const std::filesystem::path& path) const;
  /// Goes on from what save() wrote; returns false if there is no such file. Throws
  /// std::runtime_error for a file that is damaged, or of another environment, network,
  /// seed, version or other settings.
  bool load(const std::filesystem::path& path);

private:
  double mean_of_last_returns() const;

  TrainingOptions options_;
  Rollouts rollouts_;
  Learner learner_;
  CurveRow row_;                     ///< Of the last update.
  std::vector<double> last_returns_; ///< Of up to 100 episodes.
  std::uint64_t updates_ = 0, episodes_ = 0;
};

} // namespace fiber::rl::ppo
