// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>

#include "fiber/bytes.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// A message of the link, as it came.
struct FromLink {
  wire::StreamId stream = 0;
  Payload message;
};
/// Nothing was heard from the peer for the link's silence limit.
struct LinkSilent {};
/// The link is gone.
struct LinkClosed {
  std::string reason;
};

/// Delivers what a link says to an actor, on the link's own thread.
///
/// Thread safety: to() may be called by any thread.
class LinkToActor : public wire::LinkHandler {
public:
  LinkToActor(caf::actor_system& system, caf::actor target);
  /// Whom it tells from now on, the end included if the link is gone already.
  void to(caf::actor target);
  void on_message(wire::StreamId stream, Bytes message) override;
  void on_silence() override;
  void on_closed(const std::string& reason) override;

private:
  template <class Message>
  void tell(Message message);

  caf::actor_system& system_;
  std::mutex mutex_;
  caf::actor target_; ///< Nobody once the link is gone.
  bool closed_ = false;
};

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::FromLink)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::LinkSilent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::LinkClosed)
