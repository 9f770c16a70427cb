// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/core/chaos.hpp"
#include "actors/driver/arrivals.hpp"
#include "actors/job/slot_worker.hpp"
#include "actors/objects/object_space.hpp"
#include "actors/pool/pool_actor.hpp"
#include "actors/protocol/link_to_actor.hpp"
#include "actors/protocol/node_boot.hpp"
#include "actors/roster/roster.hpp"
#include "actors/share/share_store.hpp"

// This folder holds the driver's side of jobs: the actor that creates them, and one actor
// for each node that translates between its link and its pool.

namespace fiber::wire {
class Reactor;
}

namespace fiber::actors {

class PoolTrace;
class Trace;

/// Services that the nodes of a session share.
struct NodeServices {
  caf::actor backend;
  wire::Reactor* reactor = nullptr; ///< Outlives every node.
  std::shared_ptr<Arrivals> arrivals = std::make_shared<Arrivals>();
  std::shared_ptr<ShareStore> shares = std::make_shared<ShareStore>();
  std::shared_ptr<ObjectSpace> objects;
  std::shared_ptr<WaitingBytes> waiting = std::make_shared<WaitingBytes>();
  std::uint64_t session_tag = 0; ///< See NodeBoot::session_tag.
  std::chrono::milliseconds heartbeat_timeout{10000};
  std::chrono::milliseconds lease{60000};
  std::chrono::milliseconds start_deadline{60000};
  std::chrono::milliseconds queue_deadline{0}; ///< 0: none.
  std::string log_level = "warn";
  std::string chaos; ///< Fault injection; see Chaos::parse().
  std::shared_ptr<ChaosCounts> chaos_counts = std::make_shared<ChaosCounts>();
  std::shared_ptr<Trace> trace; ///< Null: no trace.
  std::shared_ptr<Roster> roster = std::make_shared<Roster>();
  std::string build; ///< Build id that a node must have.
  /// Fills in the address that a job dials, if it has to dial, and returns its
  /// credentials: wire::Identity::pack().
  std::function<Bytes(NodeBoot&)> address;
  std::function<std::uint64_t()> next_incarnation;
};

/// Settings of the jobs of a pool, or of the job of a process.
struct NodeTemplate {
  backends::JobResources resources;
  CallCode initializer;
  std::chrono::nanoseconds task_timeout{0}; ///< 0: no limit.
  int max_retries = 3;
  std::shared_ptr<PoolTrace> trace = nullptr; ///< The pool's trace.
  NodeUse use = NodeUse::pool;
  std::string image = {};    ///< Empty: the session's image.
  std::string kind = "pool"; ///< What the job is for, in the roster.
};

/// Starts the actor of one incarnation of a node: it asks the job backend for the job,
/// turns messages of the link into messages for the pool, and sends the pool's frames on
/// the link. It ends with the job, for a reason that its supervisor can judge.
///
/// For a process, the process actor takes the place of the pool. It is also told of the
/// job as soon as it exists and, in the end, of its output.
///
/// A job that falls silent is declared dead: this actor ends at once, so that it is
/// replaced, and leaves the link to the actor of a fenced job (fenced_job.hpp).
caf::actor spawn_node_link(caf::event_based_actor* supervisor,
                           std::shared_ptr<const NodeServices> services,
                           std::shared_ptr<const NodeTemplate> job, caf::actor pool,
                           NodeOrder order);

} // namespace fiber::actors
