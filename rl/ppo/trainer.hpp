// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

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

  /// All that is needed to continue, as the bytes of a file.
  virtual std::string checkpoint() const = 0;
  /// Continues from what checkpoint() returned, before the first update. Throws
  /// std::runtime_error, which begins with `name`, for bytes that are damaged, or of
  /// another kind of training, environment, network, seed, version or other options.
  virtual void restore(const std::filesystem::path& name,
                       std::string_view checkpoint) = 0;
};

} // namespace fiber::rl::ppo
