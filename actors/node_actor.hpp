// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/slot_worker.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

// -- to a node
// ---------------------------------------------------------------------------------

/// A message of the link, as it came.
struct FromLink {
  wire::StreamId stream = 0;
  Payload message;
};
/// A slot has run its initializer.
struct SlotReady {};
/// A slot's initializer threw: the job is of no use.
struct SlotFailed {
  Failure failure;
};
/// The job was asked to end (SIGTERM): finish what has started, give back the rest.
struct DrainNode {};

/// What a node is made of. It shares the slots with their threads.
struct NodeParts {
  std::uint64_t incarnation = 0;
  std::shared_ptr<wire::Link> link;
  std::vector<std::shared_ptr<SlotWorker>> slots;
  /// Called with the exit code when the node has to end at once.
  std::function<void(int code)> abort;
};

/// The node within its job: hands the driver's tasks to the slots and answers for them.
/// Results do not pass through it: slots write them to the link themselves. It ends its
/// slots when the driver retires it or the job is asked to end; who runs the slots then
/// ends the job.
caf::actor spawn_node(caf::actor_system& system, NodeParts parts);

/// Delivers what a link says to an actor, on the link's own thread: messages as FromLink.
class LinkToActor : public wire::LinkHandler {
public:
  LinkToActor(caf::actor_system& system, caf::actor target);
  void on_message(wire::StreamId stream, Bytes message) override;
  void on_silence() override;
  void on_closed(const std::string& reason) override;

private:
  caf::actor_system& system_;
  caf::actor target_;
};

/// Nothing was heard from the peer for the link's silence limit.
struct LinkSilent {};
/// The link is gone.
struct LinkClosed {
  std::string reason;
};

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::FromLink)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::SlotReady)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::SlotFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::DrainNode)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::LinkSilent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::LinkClosed)
