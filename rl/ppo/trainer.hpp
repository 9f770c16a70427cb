// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "fiber/rl/saved_policy.hpp"
#include "rl/ppo/curve.hpp"
#include "rl/ppo/hyperparameters.hpp"

namespace fiber::rl::ppo {

struct TrainingOptions {
  std::string environment = "cartpole";
  std::uint64_t seed = 1;
  std::size_t jobs = 0;     ///< Training: that the environments are spread over; 0: none.
  std::size_t actors = 4;   ///< AsynchronousTraining: that play, a job each.
  std::size_t learners = 1; ///< LearnerGroup: that play and learn, a job each.
  Hyperparameters settings = {};

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& environment& seed& jobs& actors& learners& settings;
  }
};

/// A training under way: Training, AsynchronousTraining or LearnerGroup.
class Trainer {
public:
  virtual ~Trainer() = default;

  /// Whether all steps are done.
  virtual bool done() const = 0;
  /// Learns once from what was played.
  virtual const CurveRow& update() = 0;

  virtual const CurveRow& last_row() const = 0;
  virtual SavedPolicy policy() const = 0;
  /// The text to print at the end of a run; may be empty.
  virtual std::string summary() const = 0;

  /// Saves all that is needed to go on. Throws std::system_error.
  virtual void save(const std::filesystem::path& path) const = 0;
  /// Goes on from what save() wrote, before the first update; returns false if there is
  /// no such file. Throws std::runtime_error for a file that is damaged, or of another
  /// kind of training, environment, network, seed, version or other settings.
  virtual bool load(const std::filesystem::path& path) = 0;
};

} // namespace fiber::rl::ppo
