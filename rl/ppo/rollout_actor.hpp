// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fiber/queue.hpp>
#include <fiber/ref.hpp>

#include "fiber/rl/any_vec_env.hpp"
#include "fiber/rl/policy.hpp"
#include "rl/ppo/trajectory.hpp"

namespace fiber::rl::ppo {

/// Where the learner puts the newest policy. An object in a job of its own, so that
/// actors are served while the learner learns.
class PolicyBoard {
public:
  explicit PolicyBoard(PublishedPolicy first) : newest_(std::move(first)) {}
  /// Does nothing, if there is a newer one.
  void put(PublishedPolicy policy) {
    if (policy.version > newest_.version)
      newest_ = std::move(policy);
  }
  /// Nothing, if there is none.
  std::optional<PublishedPolicy> newer(std::optional<std::uint64_t> than) const {
    return than >= newest_.version ? std::nullopt : std::optional(newest_);
  }

private:
  PublishedPolicy newest_;
};

} // namespace fiber::rl::ppo

template <>
inline constexpr bool fiber::idempotent<& fiber::rl::ppo::PolicyBoard::newer> = true;

namespace fiber::rl::ppo {

/// Bounded: an actor that is ahead of the learner waits.
using TrajectoryQueue = Queue<Trajectory>;

struct ActorOptions {
  std::string environment = {};
  PolicySpec spec = {};
  std::uint64_t seed = 0;
  std::size_t first_env = 0, envs = 0; ///< The actor's share of all environments.
  std::size_t rollout = 0;             ///< Steps of each in a trajectory.
  OnError on_error = OnError::stop;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& environment& spec& seed& first_env& envs& rollout& on_error;
  }
};

/// Plays its environments, in a job, without end.
class RolloutActor {
public:
  RolloutActor(ActorOptions options, Ref<PolicyBoard> board, TrajectoryQueue done)
    : options_(std::move(options)), board_(std::move(board)), done_(std::move(done)) {}

  /// Puts one trajectory after another into the queue, each by the newest policy on the
  /// board, until the queue is closed. An error ends it, too, and is put into the queue.
  ///
  /// `life` tells the runs of all actors apart: each has episodes of its own.
  void run(std::uint64_t life) const;

private:
  void play(std::uint64_t life) const;
  std::string name() const;

  ActorOptions options_;
  Ref<PolicyBoard> board_;
  TrajectoryQueue done_;
};

} // namespace fiber::rl::ppo
