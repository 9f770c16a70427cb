// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fiber::rl::ppo {

/// The statistics of one update: a row of the training curve.
struct CurveRow {
  std::uint64_t update = 0, steps = 0, episodes = 0;
  double return_mean =
    std::numeric_limits<double>::quiet_NaN(); ///< Of the last 100 episodes that ended;
                                              ///< NaN before the first.
  double policy_loss = 0, value_loss = 0, entropy = 0, kl = 0, clip_fraction = 0;
  double gradient_norm = 0, explained_variance = 0, learning_rate = 0;
  // All above repeat to the last bit; the two below do not.
  double seconds = 0;      ///< Since the training began, without pauses between runs.
  double learner_idle = 0; ///< The part of the time that the learner waited for rows.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& update& steps& episodes& return_mean& policy_loss& value_loss& entropy& kl;
    archive& clip_fraction& gradient_norm& explained_variance& learning_rate;
    archive& seconds& learner_idle;
  }
};

/// The names of columns(): those of TrainingLog, which adds the step itself.
std::vector<std::string> column_names();
std::vector<double> columns(const CurveRow& row);

} // namespace fiber::rl::ppo
