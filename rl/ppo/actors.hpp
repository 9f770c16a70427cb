// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <fiber/supervisor.hpp>

#include "rl/ppo/rollout_actor.hpp"
#include "rl/ppo/trainer.hpp"
#include "rl/ppo/trajectory.hpp"

namespace fiber::rl::ppo {

/// The actors of a training, the board that they look at and the queue that they fill.
class Actors {
public:
  /// Starts them. `lives` counts the lives of actors, from what it is now. Throws what
  /// Supervisor::spawn() does.
  Actors(const PpoOptions& options, const PolicySpec& spec, const PublishedPolicy& policy,
         std::shared_ptr<std::atomic<std::uint64_t>> lives);
  ~Actors();
  Actors(const Actors&) = delete;
  Actors& operator=(const Actors&) = delete;

  void publish(const PublishedPolicy& policy);
  /// The next trajectory, of whichever actor. Throws std::runtime_error if an actor can't
  /// go on, and WorkerLost if actors are lost again and again.
  Trajectory take();
  /// How often one of their jobs was lost and replaced.
  std::size_t lost() const;

private:
  /// Outlives this in the functions that run after restarts.
  struct Newest {
    std::mutex mutex;
    PublishedPolicy policy;
  };
  void start(const PpoOptions& options, const PolicySpec& spec,
             const std::shared_ptr<std::atomic<std::uint64_t>>& lives);

  std::shared_ptr<Newest> newest_;
  TrajectoryQueue done_;
  Supervisor supervisor_;
  Ref<PolicyBoard> board_;
};

} // namespace fiber::rl::ppo
