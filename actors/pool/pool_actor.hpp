// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/core/chaos.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/supervision/supervisor_actor.hpp"

// This folder holds the pool: the driver's actor that queues tasks, hands them to worker
// slots, retries the tasks of lost workers and returns results. A node is a worker job;
// it has one or more slots, each of which runs one task at a time. May include: core,
// crash, protocol, supervision, trace.

namespace fiber::actors {

class PoolTrace;
class Roster;

/// The parameters of a node that the pool starts.
struct NodeOrder {
  std::string name;           ///< Its replacements have the same name.
  std::size_t first_rank = 0; ///< Rank of its first slot within the pool.
  std::size_t slots = 1;
};

struct PoolSettings {
  std::string name;
  std::size_t workers = 1;
  std::size_t workers_per_job = 1;
  std::size_t max_tasks_per_worker = 0; ///< 0: no limit.
  int max_retries = 3;                  ///< -1: no limit.
  bool retry_exceptions = false;
  std::chrono::nanoseconds task_timeout{0};     ///< For error texts; nodes enforce it.
  std::chrono::milliseconds cancel_grace{2000}; ///< Then a task that runs on is killed.
  /// A task that waits runs other tasks of its slot meanwhile, as on an inline session.
  /// Slots then take all waiting tasks, and no node can be killed.
  bool nested = false;
  /// Starts the actor that represents one job. It sends the pool NodeUp and the other
  /// messages "from its nodes" in messages.hpp.
  std::function<caf::actor(caf::event_based_actor* supervisor, const caf::actor& pool,
                           const NodeOrder& order)>
    start_node;
  std::shared_ptr<ChaosCounts> chaos_counts = nullptr; ///< Null: retries not counted.
  std::shared_ptr<PoolTrace> trace = nullptr;          ///< Null: no trace.
  std::shared_ptr<Roster> roster = nullptr; ///< Is told of failures; null: nobody is.
  Backoff backoff = {};
  std::uint64_t seed = 0; ///< Of the back-off's jitter; 0: random.
  /// For so long a pool without any worker waits for room.
  std::chrono::milliseconds start_deadline{60000};
};

/// Runs tasks on nodes. Each accepted task ends exactly once, whatever happens to the
/// nodes: with a result, with its exception, as WorkerLost after too many losses, or as
/// Cancelled.
///
/// A task is either in the queue (TaskQueue), in the running table of one slot (Slot), or
/// ended. The pool accepts a result only for a task that the running table lists.
///
/// The pool owns the supervisor of its nodes and starts both lazily. Its messages are in
/// messages.hpp.
caf::actor spawn_pool(caf::actor_system& system, PoolSettings settings);

} // namespace fiber::actors
