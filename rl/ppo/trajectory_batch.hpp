// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/policy.hpp"
#include "fiber/rl/ppo_options.hpp"
#include "rl/ppo/learner.hpp"
#include "rl/ppo/trajectory.hpp"

namespace fiber::rl::ppo {

/// Makes what a learner learns from out of trajectories that older policies played.
///
/// The policy's ratio is that to the policy before the update, as it is without actors.
/// That the trajectories are older is corrected before, in the advantages and the targets
/// of values, by V-trace (Espeholt et al. 2018, section 4.1, rho-bar = c-bar = 1) in
/// place of generalised advantage estimation.
///
/// Keeps the statistics that normalise observations and rewards, of all environments.
class TrajectoryBatch {
public:
  TrajectoryBatch(const PpoOptions& settings, const PolicySpec& spec);

  /// Drops the trajectories and keeps the statistics.
  void clear();
  /// Adds a trajectory, and what its environments showed to the statistics. An actor's
  /// trajectories come in order. Throws std::invalid_argument for one of other sizes.
  void add(const Trajectory& trajectory);
  /// The steps of its trajectories; those that are not valid are no samples.
  std::size_t rows() const { return rewards_.size(); }
  /// Of the episodes that ended in these trajectories.
  const std::vector<double>& returns() const { return returns_; }
  /// What went wrong with environments in all trajectories so far.
  const EnvFailures& failures() const { return failures_; }

  /// The rows with their advantages and targets as the learner's present networks see
  /// them; valid until the next clear() or add(). Throws as keep_valid_rows() does.
  Samples samples(const Learner& learner);
  /// What a policy's observations go through now.
  FrozenNormaliser observations() const;

  struct State {
    ObservationNormaliser observations = {};
    RewardNormaliser rewards = {};
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& observations& rewards;
    }
  };
  State state() const { return {observation_normaliser_, reward_normaliser_}; }
  void go_on_from(const State& state);

private:
  /// Where a trajectory is in the vectors below.
  struct Part {
    std::size_t row, rows, last, envs;
  };
  void check(const Trajectory& trajectory) const;
  void add_rewards(const Trajectory& trajectory);
  void log_probabilities_now(std::span<const float> outputs,
                             std::span<const float> log_std);
  void estimate(const Part& part, std::span<const float> last_values,
                std::span<const float> final_values);

  PpoOptions settings_;
  Spaces spaces_;
  ObservationNormaliser observation_normaliser_;
  RewardNormaliser reward_normaliser_;

  EnvFailures failures_;

  std::vector<Part> parts_;
  std::vector<float> observations_, last_observations_, final_observations_;
  std::vector<float> actions_, behaviour_; ///< behaviour_: log-probabilities then.
  std::vector<double> rewards_, returns_;
  std::vector<std::uint8_t> terminated_, truncated_, valid_, masks_;
  std::vector<float> now_, values_, advantages_, targets_; ///< now_: behaviour_ now.
};

} // namespace fiber::rl::ppo
