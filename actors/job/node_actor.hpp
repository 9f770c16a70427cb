// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/job/peer_links.hpp"
#include "actors/job/slot_worker.hpp"
#include "actors/protocol/link_to_actor.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

// -- to a node --

/// A slot has run its initializer.
struct SlotReady {};
/// A slot's initializer threw, so the job can run no tasks.
struct SlotFailed {
  Failure failure;
};
/// The job was asked to end (SIGTERM): finish the running tasks, hand back the others.
struct DrainNode {};

/// The parts of a node. It shares the slots with their threads.
struct NodeParts {
  std::uint64_t incarnation = 0;
  std::shared_ptr<wire::Link> link;
  std::vector<std::shared_ptr<SlotWorker>> slots;
  /// Called when the initializer has arrived.
  std::function<void(CallCode)> initialize;
  /// Called with the exit code when the node has to end at once.
  std::function<void(int code)> abort;
  std::chrono::nanoseconds task_timeout{0};       ///< The same as the slots'.
  std::shared_ptr<ObjectSpace> objects = nullptr; ///< The same as the slots'.
  std::shared_ptr<PeerLinks> peers = nullptr;     ///< Null: there are no other jobs.
};

/// Starts the node's actor within its job: it hands the driver's tasks to the slots and
/// answers the driver's other messages. Slots write results to the link themselves. The
/// node finishes its slots when the driver retires it; run_node() then ends the job.
caf::actor spawn_node(caf::actor_system& system, NodeParts parts);

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::SlotReady)
FIBER_ACTOR_MESSAGE(fiber::actors::SlotFailed)
FIBER_ACTOR_MESSAGE(fiber::actors::DrainNode)
