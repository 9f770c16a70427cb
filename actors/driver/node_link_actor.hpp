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
#include "actors/protocol/node_boot.hpp"
#include "actors/share/share_store.hpp"

namespace fiber::wire {
class Reactor;
}

namespace fiber::actors {

class PoolTrace;
class Trace;

/// What the nodes of a session share.
struct NodeServices {
  caf::actor backend;
  wire::Reactor* reactor = nullptr; ///< Outlives every node.
  std::shared_ptr<Arrivals> arrivals = std::make_shared<Arrivals>();
  std::shared_ptr<ShareStore> shares = std::make_shared<ShareStore>();
  std::shared_ptr<ObjectSpace> objects;
  std::uint64_t session_tag = 0; ///< NodeBoot::session_tag.
  std::chrono::milliseconds heartbeat_timeout{10000};
  std::chrono::milliseconds lease{60000};
  std::chrono::milliseconds start_deadline{60000};
  std::string log_level = "warn";
  std::string chaos; ///< Chaos::parse().
  std::shared_ptr<ChaosCounts> chaos_counts = std::make_shared<ChaosCounts>();
  std::shared_ptr<Trace> trace; ///< Null: there is none.
  std::string build;            ///< Build id that a node must have.
  /// Fills in where a job dials, if it must, and returns what it shows there:
  /// wire::Identity::pack().
  std::function<Bytes(NodeBoot&)> address;
  std::function<std::uint64_t()> next_incarnation;
};

/// What a pool wants its jobs to be, or a process its one.
struct NodeTemplate {
  backends::JobResources resources;
  CallCode initializer;
  std::chrono::nanoseconds task_timeout{0}; ///< 0: no limit.
  int max_retries = 3;
  std::shared_ptr<PoolTrace> trace = nullptr; ///< As the pool has it.
  NodeUse use = NodeUse::pool;
  std::string image = {}; ///< Empty: the session's.
};

/// One incarnation of a node, seen from the driver: asks the job backend for the job,
/// turns what the link says into messages for the pool and the pool's frames into
/// messages on the link. It ends with the job, for a reason its supervisor can judge.
///
/// A process plays the part of the pool for its one node. It is also told of the job as
/// soon as there is one, and in the end what it wrote.
///
/// A job that falls silent is declared dead: this actor ends at once, so that it is
/// replaced, and leaves its link to a warden that goes on handing results to the pool,
/// which refuses them as late, until the job is really gone.
caf::actor spawn_node_link(caf::event_based_actor* supervisor,
                           std::shared_ptr<const NodeServices> services,
                           std::shared_ptr<const NodeTemplate> job, caf::actor pool,
                           NodeOrder order);

} // namespace fiber::actors
