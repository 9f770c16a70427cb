// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fiber/rl/evaluate.hpp"
#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/ppo_options.hpp"
#include "fiber/rl/saved_policy.hpp"

namespace fiber::rl {

class PpoNetwork;

/// The statistics of one update: a row of the training curve.
struct PpoUpdate {
  std::uint64_t update = 0; ///< The number of this update, from 1; 0: none was made yet.
  std::uint64_t steps = 0, episodes = 0; ///< Since the training began.
  /// The mean return of the last 100 episodes that ended, or of all if they are fewer;
  /// NaN before the first.
  double return_mean = std::numeric_limits<double>::quiet_NaN();
  double policy_loss = 0, value_loss = 0, entropy = 0, kl = 0, clip_fraction = 0;
  double gradient_norm = 0, explained_variance = 0, learning_rate = 0;
  // All above repeat to the last bit; the two below do not.
  double seconds = 0;      ///< Since the training began, without pauses between runs.
  double learner_idle = 0; ///< The part of the time that the learner waited for rows.

  /// The names of columns(), for TrainingLogOptions::columns.
  static std::vector<std::string> column_names();
  /// All but `steps`, which TrainingLog::add() takes as its first argument.
  std::vector<double> columns() const;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& update& steps& episodes& return_mean& policy_loss& value_loss& entropy& kl;
    archive& clip_fraction& gradient_norm& explained_variance& learning_rate;
    archive& seconds& learner_idle;
  }
};

/// Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347), with the
/// details of Huang et al. 2022, as a class:
///
///   auto options = fiber::rl::ppo_defaults("acrobot");
///   options.jobs = 4;
///   fiber::rl::PpoTrainer trainer(options);
///   while (!trainer.done())
///     std::printf("%.1f\n", trainer.update().return_mean);
///   std::printf("%.1f\n", trainer.evaluate().mean_return());
///   save_policy("policy", trainer.policy());
///
/// The options decide the result. The number of jobs does not change the result, and
/// neither does the loss of jobs. A training that continues from a checkpoint ends with
/// the same result. There are six exceptions: `actors`; a step_timeout, because the clock
/// decides which episodes are given up; OnError::new_episode, if a job is lost three
/// times in a row; episodes of more than 100,000 steps, which can't be retraced (see
/// VecEnvOptions::history_limit); a network of your own that draws random numbers, such
/// as one with dropout; a GPU.
///
/// run_ppo() is made of this class. Link with fiber::ppo, and with fiber::ppo_torch to
/// learn from images or to train a network of your own.
///
/// Thread safety: one thread at a time.
class PpoTrainer {
public:
  /// Trains the networks of PpoOptions::policy_spec(). Throws as PpoOptions::check()
  /// does, what the environment's constructor throws, and std::invalid_argument for
  /// options that contradict each other. Jobs need a session (fiber::init).
  explicit PpoTrainer(const PpoOptions& options);
  /// Trains a network of your own: see ppo_network() (fiber/rl/ppo_network.hpp). It is
  /// inferred and trained in this process; environments may be played in `jobs`. Throws
  /// std::invalid_argument also for `overlap`, `actors`, `learners`, `hidden`,
  /// `activation` or `lstm`, and for a network with outputs of other shapes than the
  /// environment's.
  PpoTrainer(const PpoOptions& options, std::shared_ptr<PpoNetwork> network);
  ~PpoTrainer();
  PpoTrainer(PpoTrainer&&) noexcept;
  PpoTrainer& operator=(PpoTrainer&&) noexcept;

  const PpoOptions& options() const;
  /// The networks in words, in one line.
  std::string network() const;

  /// Whether another rollout would exceed PpoOptions::steps.
  bool done() const;
  /// Plays a rollout of each environment and learns from it. Throws std::runtime_error if
  /// a loss is no longer finite: the parameters are then the last that were. Throws
  /// std::domain_error, naming the environment, if an observation or a reward is not
  /// finite, std::logic_error after done(), and what AnyVecEnv::step() throws.
  const PpoUpdate& update();
  /// Calls update() until done(), or until `go_on` returns false after an update.
  void run(const std::function<bool(const PpoUpdate&)>& go_on = {});
  /// The statistics of the last update.
  const PpoUpdate& last_update() const;

  /// Plays fresh episodes by the policy as it is now, in this process.
  Evaluation evaluate(const EvaluationOptions& options = {}) const;
  /// The policy as it is now. Throws std::logic_error for a network of your own: save
  /// that as LibTorch does, together with observations().
  SavedPolicy policy() const;
  /// What the policy's observations go through now. The identity unless
  /// PpoOptions::normalise_observations is set.
  FrozenNormaliser observations() const;

  /// Saves all that is needed to continue. Throws std::system_error.
  void save(const std::filesystem::path& path) const;
  /// Continues from what save() wrote, before the first update; returns false if there is
  /// no such file. Throws std::logic_error after an update, and std::runtime_error for a
  /// file that is damaged, or of another environment, network, seed, version or other
  /// options.
  bool load(const std::filesystem::path& path);

  /// The same two with bytes instead of a file, such as to train in another process from
  /// here on. Throws as save() and load() do.
  std::string checkpoint() const;
  void restore(std::string_view checkpoint);

  /// What happened to jobs, actors and learners, in words; empty if nothing is to be
  /// said.
  std::string summary() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl
