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

namespace fiber::actors {

class PoolTrace;

/// A worker job for the pool to start: what its node needs to know.
struct NodeOrder {
  std::string name;           ///< Also of its replacements.
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
  std::chrono::nanoseconds task_timeout{0};     ///< For messages: nodes judge by it.
  std::chrono::milliseconds cancel_grace{2000}; ///< Then a task that goes on is ended.
  bool nested =
    false; ///< A task that waits runs others of its slot: each slot takes what there is.
  /// Starts the actor that stands for one job; it reports to the pool with NodeUp and its
  /// kin.
  std::function<caf::actor(caf::event_based_actor* supervisor, const caf::actor& pool,
                           const NodeOrder& order)>
    start_node;
  std::shared_ptr<ChaosCounts> chaos_counts = nullptr; ///< Null: they are not counted.
  std::shared_ptr<PoolTrace> trace = nullptr;          ///< Null: nobody asked for one.
  Backoff backoff = {};
  std::uint64_t seed = 0; ///< Of the back-off's jitter; 0: a random one.
};

/// Runs tasks on nodes. Each accepted task ends exactly once, whatever happens to the
/// nodes: with a result, with its exception, as WorkerLost after too many losses, or as
/// Cancelled.
///
/// Where a task is: in the queue (not handed out), in the running table of one slot
/// (Slot), or ended. Results are accepted only for what the running table lists.
///
/// The pool owns the supervisor of its nodes and starts both lazily. Messages:
/// messages.hpp.
caf::actor spawn_pool(caf::actor_system& system, PoolSettings settings);

} // namespace fiber::actors
