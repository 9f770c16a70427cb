// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rl/ppo/behaviour_policy.hpp"
#include "rl/ppo/learner.hpp"
#include "rl/ppo/peers.hpp"
#include "rl/ppo/progress.hpp"
#include "rl/ppo/rollout.hpp"
#include "rl/ppo/trainer.hpp"

namespace fiber::rl::ppo {

/// One training: rollouts and updates in turn. What it learns follows from its options,
/// for any number of jobs; it can be saved between two updates and goes on as if nothing
/// had happened.
///
/// With `peers` it is one of several learners (DD-PPO: Wijmans et al. 2020, section 3).
/// Each plays its part of the environments and learns from the means of all gradients, so
/// that all have the same networks after each step of Adam.
class Training final : public Trainer {
public:
  explicit Training(const PpoOptions& options, Peers* peers = nullptr);
  /// Trains a network of the user's own.
  Training(const PpoOptions& options, std::shared_ptr<PpoNetwork> network);

  Training(Training&&) = delete; // The behaviour policy points to the learner.

  bool done() const override;
  /// Plays a rollout and learns from it.
  const PpoUpdate& update() override;

  const PpoUpdate& last_row() const override { return progress_.row(); }
  std::string network() const override;
  SavedPolicy policy() const override;
  FrozenNormaliser observations() const override { return rollouts_.observations(); }
  Evaluation evaluate(const EvaluationOptions& options) const override;
  std::string summary() const override;

  std::string checkpoint() const override;
  void restore(const std::filesystem::path& name, std::string_view checkpoint) override;

  /// All that a checkpoint has.
  struct State {
    Rollouts::State rollouts = {};
    Learner::State learner = {};
    Progress progress = {};
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& rollouts& learner& progress;
    }
  };
  State state() const;
  /// Throws std::invalid_argument for the state of other environments or networks.
  void go_on_from(State state);
  /// Begins new episodes and goes on from what another training has learned. Before the
  /// first update. Throws as go_on_from() does.
  void begin_with(const Learner::State& learner,
                  const ObservationNormaliser& observations,
                  const RewardNormaliser& rewards);

private:
  /// What a learner tells the others about its rollout.
  struct Told {
    RunningMoments seen = {};
    std::vector<double> returns = {};
    double explained_variance = 0;
    std::size_t rows = 0; ///< That are valid; together: the fewest of a learner.
    EnvFailures failures = {};
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& seen& returns& explained_variance& rows& failures;
    }
  };
  Training(const PpoOptions& options, Peers* peers, std::shared_ptr<PpoNetwork> network);
  Told of_all(Told own);

  PpoOptions options_;
  Peers* peers_;
  Rollouts rollouts_;
  std::optional<PolicySpec> spec_; ///< Nothing: the network is the user's own.
  Learner learner_;
  std::unique_ptr<BehaviourPolicy> behaviour_;
  Progress progress_;
  EnvFailures failures_; ///< Of all learners.
};

} // namespace fiber::rl::ppo
