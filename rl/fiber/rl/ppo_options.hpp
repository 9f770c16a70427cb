// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fiber/rl/any_vec_env.hpp"
#include "fiber/rl/policy.hpp"

namespace fiber::rl {

/// What PPO trains on, and how. ppo_defaults() has settings that are known to work for an
/// environment; change those that you want to change.
struct PpoOptions {
  std::string environment = "cartpole"; ///< A name that make_environment() takes.
  std::uint64_t seed = 1;               ///< Decides all that is drawn.

  // -- Where environments are played --

  std::size_t jobs = 0; ///< The jobs that play; 0: this process plays.
  /// Above 0: so many actors play, a job each, by the newest policy, and wait for no
  /// update. V-trace corrects for the age of that policy (Espeholt et al. 2018). Neither
  /// a run nor a resumed one repeats byte for byte. `jobs` is 0 then.
  std::size_t actors = 0;
  /// Above 1: so many learners, a job each, play a share of the environments and learn
  /// from the mean of their gradients (DD-PPO: Wijmans et al. 2020). `jobs` and `actors`
  /// are 0 then.
  std::size_t learners = 1;

  /// Play the next rollout in a second thread while this thread learns from the last one,
  /// by the policy before the update. V-trace corrects for its age (Espeholt et al.
  /// 2018). Runs repeat byte for byte. Environments that only the thread that made them
  /// may call need `jobs`. Not with actors, learners, `lstm` or a network of
  /// your own.
  bool overlap = false;

  /// As in VecEnvOptions. Only `jobs` can have a time limit for steps. Rows that are not
  /// valid are left out of the learning.
  std::optional<std::chrono::milliseconds> step_timeout = {};
  OnError on_error = OnError::stop;

  // -- Rollouts --

  std::uint64_t steps = 1'000'000; ///< Of all environments together.
  std::size_t envs = 8;
  std::size_t rollout = 256; ///< The steps of each environment between two updates.
  double gamma = 0.99;       ///< The discount.
  double lambda = 0.95;      ///< Of generalised advantage estimation.
  bool normalise_observations = false, normalise_rewards = false;
  bool sign_rewards = false; ///< Learn from -1, 0 and 1 alone.

  // -- Networks --

  /// The widths of the hidden layers, and the function between layers. Nothing: as
  /// default_policy() has them.
  std::optional<std::vector<std::size_t>> hidden = {};
  std::optional<Activation> activation = {};
  /// Where LibTorch trains: "cpu", "cuda" or "cuda:1", the second GPU. Only for images,
  /// and for networks of your own: other networks are small, and Eigen trains them faster
  /// on the CPU. A GPU rounds differently, so results are not those of the CPU, nor do
  /// they repeat byte for byte.
  std::string device = "cpu";
  /// Above 0: the policy is recurrent, with so many units in each LSTM
  /// (PolicySpec::lstm). It needs observations that are no images, `actors` 0, no
  /// `overlap`, and with several learners OnError::stop. Minibatches are of whole
  /// environments then: `minibatch` is rounded up to a multiple of `rollout`.
  std::size_t lstm = 0;

  // -- Updates --

  std::size_t minibatch = 64; ///< The samples of a step of Adam.
  int epochs = 10;            ///< How often an update sees each sample.
  double learning_rate = 3e-4, clip_range = 0.2;
  bool anneal_learning_rate = false; ///< Linearly to 0 at the last step.
  bool anneal_clip_range = false;    ///< The same.
  double value_coefficient = 0.5;    ///< The weight of the value loss.
  double entropy_coefficient = 0;    ///< The weight of the entropy.
  double max_gradient_norm = 0.5;    ///< The norm at which gradients are clipped.
  double target_kl = 0;              ///< An update stops above 1.5 times this; 0: never.
  bool normalise_advantages = true;
  bool clip_values = false;

  /// The settings of rollouts and updates, in one line: all but the environment, the
  /// seed, the networks, and where environments are played and networks trained.
  std::string describe() const;
  /// Throws std::invalid_argument for options that make no sense, and says which would.
  void check() const;
  /// The networks that these options ask for.
  PolicySpec policy_spec(const Spaces& spaces) const;

  template <class Archive>
  void serialize(Archive& archive, unsigned);
};

/// The settings that the program ppo takes for this environment if it is told nothing
/// else. They are general ones for an environment that Fiber does not know.
PpoOptions ppo_defaults(const std::string& environment);

namespace detail {

template <class Archive, class T>
void archive_optional(Archive& archive, std::optional<T>& value) {
  bool there = value.has_value();
  archive& there;
  if constexpr (Archive::is_loading::value)
    value = there ? std::optional<T>(T()) : std::nullopt;
  if (there)
    archive&* value;
}

} // namespace detail

template <class Archive>
void PpoOptions::serialize(Archive& archive, unsigned) {
  auto limit = step_timeout.value_or(std::chrono::milliseconds(0)).count();
  archive& environment& seed& jobs& actors& learners& overlap& limit& on_error;
  if constexpr (Archive::is_loading::value)
    step_timeout =
      limit > 0 ? std::optional(std::chrono::milliseconds(limit)) : std::nullopt;
  archive& steps& envs& rollout& gamma& lambda;
  archive& normalise_observations& normalise_rewards& sign_rewards;
  detail::archive_optional(archive, hidden);
  detail::archive_optional(archive, activation);
  archive& device;
  archive& minibatch& epochs& learning_rate& clip_range;
  archive& anneal_learning_rate& anneal_clip_range;
  archive& value_coefficient& entropy_coefficient& max_gradient_norm& target_kl;
  archive& normalise_advantages& clip_values& lstm;
}

} // namespace fiber::rl
