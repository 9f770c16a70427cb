// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include "rl/ppo/off_policy.hpp"
#include "rl/ppo/player.hpp"

namespace fiber::rl::ppo {

/// A training that learns from a rollout while a second thread plays the next one, by the
/// policy before the update. V-trace corrects for its age of one update.
///
/// An update ends when both threads have ended. So nothing is in flight between updates,
/// except for the rollout that restore() plays again.
/// The result follows from the options, as that of Training.
class OverlappedTraining final : public OffPolicyTraining {
public:
  explicit OverlappedTraining(const PpoOptions& options);

  /// Learns from the rollout that the update before has played. If a rollout failed,
  /// throws what the environments threw.
  const PpoUpdate& update() override;
  std::string summary() const override { return batch_.failures().describe(); }

  std::string checkpoint() const override;
  void restore(const std::filesystem::path& name, std::string_view checkpoint) override;

private:
  /// What decides a rollout. Empty before the first.
  struct Start {
    Player::State player = {};
    std::uint64_t version = 0;
    std::vector<float> parameters = {};
    FrozenNormaliser observations = {};
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& player& version& parameters& observations;
    }
  };
  /// A checkpoint has no rows: restore() plays the rollout again.
  struct State {
    TrajectoryBatch::State statistics = {};
    Learner::State learner = {};
    Progress progress = {};
    Start next = {};
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& statistics& learner& progress& next;
    }
  };
  /// A thread plays a rollout, by the policy as it is now.
  void begin_next();
  void play_next();

  Player player_;
  Start start_;               ///< Of next_.
  std::exception_ptr failed_; ///< What a rollout threw: there is no next one.
  std::future<Trajectory> next_;
};

} // namespace fiber::rl::ppo
