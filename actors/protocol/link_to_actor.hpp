// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "fiber/bytes.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// Counts bytes of messages that wait for an actor.
struct WaitingBytes {
  std::atomic<std::size_t> count = 0;
};
/// The same for one link; `all` has those of every link of the process.
struct LinkWaitingBytes : WaitingBytes {
  explicit LinkWaitingBytes(std::shared_ptr<WaitingBytes> all) : all(std::move(all)) {}
  const std::shared_ptr<WaitingBytes> all;
};
/// Keeps a message counted. Actors pass it on with what they make of the message.
using StillWaits = std::shared_ptr<const void>;

/// A message from the link.
struct FromLink {
  wire::StreamId stream = 0;
  Payload message;
  StillWaits waits = {};
};
/// Nothing was heard from the peer for the link's silence limit.
struct LinkSilent {};
/// The link is gone.
struct LinkClosed {
  std::string reason;
};

/// Passes the events of a link to an actor, which runs on the link's thread if it can.
/// Otherwise messages wait in its mailbox, and the link stops reading when these are
/// many.
///
/// Thread safety: to() may be called by any thread.
class LinkToActor : public wire::LinkHandler {
public:
  /// `all` counts the messages of every link of the process.
  LinkToActor(caf::actor_system& system, caf::actor target,
              std::shared_ptr<WaitingBytes> all = std::make_shared<WaitingBytes>());
  /// Sends later events to `target`. If the link is closed already, `target` gets
  /// LinkClosed.
  void to(caf::actor target);
  void on_message(wire::StreamId stream, Bytes message) override;
  std::size_t waiting() const override;
  void on_silence() override;
  void on_closed(const wire::LinkEnd& end) override;

private:
  template <class Message>
  void tell(Message message);

  caf::actor_system& system_;
  std::shared_ptr<LinkWaitingBytes> waiting_;
  std::mutex mutex_;
  caf::actor target_; ///< Null once the link is closed.
  bool closed_ = false;
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::FromLink)
FIBER_ACTOR_MESSAGE(fiber::actors::LinkSilent)
FIBER_ACTOR_MESSAGE(fiber::actors::LinkClosed)
