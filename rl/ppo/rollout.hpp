// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/any_vec_env.hpp"
#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/ppo_options.hpp"
#include "rl/ppo/behaviour_policy.hpp"
#include "rl/ppo/env_failures.hpp"
#include "rl/ppo/episode_memory.hpp"
#include "rl/ppo/learner.hpp"

namespace fiber::rl::ppo {

/// Plays rollouts: as many steps of each environment as an update learns from. Actions
/// are inferred here, for all environments in one batch.
///
/// The seed and the networks decide the rollouts; the number of jobs does not matter.
class Rollouts {
public:
  /// The environments are in PpoOptions::jobs, or for 0 in this process. A job that is
  /// lost is replaced and plays its episodes again, so that no row differs.
  Rollouts(const PpoOptions& options, std::uint64_t seed);

  const Spaces& spaces() const { return envs_.spaces(); }

  /// Plays a rollout by `policy` and estimates its advantages. Rows of samples() are
  /// valid until the next. Throws std::domain_error, naming the environment, if an
  /// observation or a reward is not finite.
  void play(BehaviourPolicy& policy);
  Samples samples() const;
  /// The returns of the episodes that ended in the last rollout, ordered by steps and
  /// environments.
  const std::vector<double>& returns() const { return returns_; }
  /// The moments of the observations of the last rollout. Several learners exchange them.
  const RunningMoments& seen() const { return seen_; }
  /// Normalises from now on as if the last rollout had seen what all learners saw: `all`,
  /// by rank. All learners have equal normalisers then.
  void replace_seen(std::span<const RunningMoments> all);
  /// What a policy's observations go through now.
  FrozenNormaliser observations() const;
  /// What went wrong with the environments so far.
  EnvFailures failures() const { return EnvFailures::of(envs_); }

  /// Where it is between two rollouts.
  struct State {
    VecEnvState envs = {};
    ObservationNormaliser observations = {};
    RewardNormaliser rewards = {};
    std::uint64_t vector_steps = 0;
    std::vector<float> memory = {}; ///< Of a recurrent policy.
    template <class Archive>
    void serialize(Archive& archive, unsigned version) {
      archive& envs& observations& rewards& vector_steps;
      if (version > 0)
        archive& memory;
    }
  };
  State state() const;
  /// Throws std::invalid_argument for a state of other environments.
  void go_on_from(const State& state);
  /// Normalises with the statistics of other episodes. Before the first rollout.
  void begin_with(const ObservationNormaliser& observations,
                  const RewardNormaliser& rewards);

private:
  void see(const Batch& batch);
  PolicyContext context() { return {.masks = masks_now_, .memory = memory_.now()}; }
  void act(BehaviourPolicy& policy, std::size_t step);
  void record(BehaviourPolicy& policy, const Batch& batch, std::size_t step);
  void estimate();

  PpoOptions options_;
  std::uint64_t action_seed_;
  AnyVecEnv envs_;
  ObservationNormaliser observation_normaliser_;
  ObservationNormaliser before_; ///< As it was before the last rollout.
  RunningMoments seen_;
  RewardNormaliser reward_normaliser_;
  EpisodeMemory memory_;
  std::uint64_t vector_steps_ = 0;
  bool started_ = false;

  // Of a rollout, time-major: environment n at step t is row t * envs + n.
  std::vector<float> shown_; ///< By the environments now; kept if that is normalised.
  std::vector<float> now_;   ///< The same, as the policy sees it.
  std::vector<float> observations_, actions_, sent_, log_probabilities_, values_;
  std::vector<float> final_values_, last_values_, advantages_, targets_;
  std::vector<double> rewards_;
  std::vector<std::uint8_t> terminated_, truncated_, valid_;
  Sequences sequences_;
  std::vector<std::uint8_t> masks_now_; ///< Of `now_`.
  std::vector<std::uint8_t> masks_;     ///< Of `observations_`.
  std::size_t rows_ = 0;                ///< Those that are valid: the first ones.
  std::vector<double> returns_;
};

} // namespace fiber::rl::ppo

BOOST_CLASS_VERSION(fiber::rl::ppo::Rollouts::State, 1)
