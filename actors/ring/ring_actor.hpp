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

namespace fiber::actors {

/// How a ring has ended.
struct RingEnd {
  std::vector<detail::RawOutcome> results; ///< By rank.
  std::exception_ptr error;                ///< Why there are none.
};

/// One member of one attempt.
struct RingPlace {
  std::size_t rank = 0;
  int attempt = 1;
  std::shared_ptr<ObjectHandle> board; ///< Of the attempt: ring_board.hpp.
};

struct RingSettings {
  std::string name;
  std::size_t size = 1;
  int max_restarts = 3; ///< -1: no limit.
  std::shared_ptr<ObjectSpace> objects;
  /// What a member's job is to do. The result goes to `sink`.
  std::function<std::shared_ptr<const TaskBatch>(const RingPlace& place,
                                                 std::shared_ptr<ResultSink> sink)>
    make_task;
  /// Starts a process for it (process_actor.hpp); `ended` is to be called when that has
  /// ended.
  std::function<caf::actor(caf::event_based_actor* ring, const RingPlace& place,
                           std::shared_ptr<const TaskBatch> task,
                           std::function<void()> ended)>
    start_job;
  /// For so long a member that lost contact waits for the cause to be told.
  std::chrono::milliseconds patience{10000};
  std::shared_ptr<Reply<std::shared_ptr<RingEnd>>> end =
    std::make_shared<Reply<std::shared_ptr<RingEnd>>>();
};

/// A ring: starts its members' jobs, all at once. When one is lost it ends the others and
/// starts all again, as they can't go on without it; when all have a result, or one has
/// failed, `end` tells. An error is told when no job is left.
caf::actor spawn_ring(caf::actor_system& system, RingSettings settings);

} // namespace fiber::actors
