// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include <fiber/queue.hpp>

#include "rl/ppo/trainer.hpp"
#include "rl/ppo/training.hpp"

namespace fiber::rl::ppo {

/// Asks the learners to be at an update.
struct LearnerOrder {
  std::uint64_t update = 0;
  bool state = false; ///< Tell the states of all learners, too.
  bool end = false;   ///< Instead: no more orders come.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& update& state& end;
  }
};

/// What the first learner says for all.
struct LearnerReport {
  /// The learners have begun, perhaps again, and wait for an order. The rest is empty.
  bool begun = false;
  PpoUpdate row = {};
  SavedPolicy policy = {};
  std::string summary = {};                 ///< What happened to environments.
  std::vector<Training::State> states = {}; ///< By rank, if the order asks for them.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& begun& row& policy& summary& states;
  }
};

/// A training by several learners: members of a Ring, each in a job of its own. What it
/// learns follows from its options and the number of learners, also when a learner is
/// lost: all begin again at the last save(), or at the start, and do the same once more.
class LearnerGroup final : public Trainer {
public:
  explicit LearnerGroup(const PpoOptions& options);
  /// Ends the learners.
  ~LearnerGroup() override;
  LearnerGroup(const LearnerGroup&) = delete;
  LearnerGroup& operator=(const LearnerGroup&) = delete;

  bool done() const override;
  /// Lets all learners play a rollout and learn from it. Throws what a learner has
  /// thrown, and WorkerLost if learners were lost too often.
  const PpoUpdate& update() override;

  const PpoUpdate& last_row() const override { return row_; }
  std::string network() const override { return spec_.describe(); }
  SavedPolicy policy() const override { return policy_; }
  std::string summary() const override;

  std::string checkpoint() const override;
  void restore(const std::filesystem::path& name, std::string_view checkpoint) override;

private:
  void start() const;
  LearnerReport ask(const LearnerOrder& order) const;

  PpoOptions options_;
  PolicySpec spec_;
  PpoUpdate row_;
  SavedPolicy policy_;
  std::string summary_; ///< Of the learners, since they have begun the last time.
  std::vector<Training::State> loaded_; ///< Empty: they begin anew.
  // Learners take orders one after the other; asking changes nothing else.
  SimpleQueue<LearnerOrder> orders_;
  Queue<LearnerReport> reports_;
  mutable std::future<void> learning_;
  mutable int begun_ = 0;
};

} // namespace fiber::rl::ppo
