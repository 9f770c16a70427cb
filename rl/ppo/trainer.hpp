// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "fiber/rl/ppo_trainer.hpp"

namespace fiber::rl::ppo {

/// A training under way: Training, OverlappedTraining, AsynchronousTraining or
/// LearnerGroup.
class Trainer {
public:
  virtual ~Trainer() = default;

  /// Whether all steps are done.
  virtual bool done() const = 0;
  /// Learns once from what was played.
  virtual const PpoUpdate& update() = 0;

  virtual const PpoUpdate& last_row() const = 0;
  /// The networks in words.
  virtual std::string network() const = 0;
  virtual SavedPolicy policy() const = 0;
  virtual FrozenNormaliser observations() const { return policy().observations; }
  virtual Evaluation evaluate(const EvaluationOptions& options) const;
  /// The text to print at the end of a run; may be empty.
  virtual std::string summary() const = 0;

  /// Saves all that is needed to go on. Throws std::system_error.
  virtual void save(const std::filesystem::path& path) const = 0;
  /// Goes on from what save() wrote, before the first update; returns false if there is
  /// no such file. Throws std::runtime_error for a file that is damaged, or of another
  /// kind of training, environment, network, seed, version or other options.
  virtual bool load(const std::filesystem::path& path) = 0;
};

} // namespace fiber::rl::ppo
