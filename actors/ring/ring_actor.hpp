// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/core/reply.hpp"
#include "actors/objects/object_space.hpp"
#include "actors/protocol/call.hpp"
#include "actors/ring/ring_progress.hpp"

// This folder holds rings: groups of jobs, the members, which run one function together
// and are restarted together when one of them is lost.

namespace fiber::actors {

/// How a ring has ended.
struct RingEnd {
  std::vector<detail::RawOutcome> results; ///< By rank.
  std::exception_ptr error;                ///< Why there are none.
};

/// The place of one member in one attempt.
struct RingPlace {
  std::size_t rank = 0;
  int attempt = 1;
  std::shared_ptr<ObjectHandle> board; ///< Board of the attempt (ring_board.hpp).
};

struct RingSettings {
  std::string name;
  std::size_t size = 1;
  int max_restarts = 3; ///< -1: no limit.
  std::shared_ptr<ObjectSpace> objects;
  /// Makes the task of a member. Its result goes to `sink`.
  std::function<std::shared_ptr<const TaskBatch>(const RingPlace& place,
                                                 std::shared_ptr<ResultSink> sink)>
    make_task;
  /// Starts a process for a member (process_actor.hpp), which calls `ended` when it has
  /// ended.
  std::function<caf::actor(caf::event_based_actor* ring, const RingPlace& place,
                           std::shared_ptr<const TaskBatch> task,
                           std::function<void()> ended)>
    start_job;
  /// How long the ring waits for the cause when a member has lost contact to the others.
  std::chrono::milliseconds cause_timeout{10000};
  std::shared_ptr<RingProgress> progress = std::make_shared<RingProgress>();
  std::shared_ptr<Reply<std::shared_ptr<RingEnd>>> end =
    std::make_shared<Reply<std::shared_ptr<RingEnd>>>();
};

/// Starts a ring, which starts the jobs of its members all at once. When one is lost, the
/// ring ends the others, which can't go on without it, and restarts all. When all members
/// have a result, or one has failed, it sets `end`; an error only when no job is left.
caf::actor spawn_ring(caf::actor_system& system, RingSettings settings);

} // namespace fiber::actors
