// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/link_to_actor.hpp"

#include <utility>

#include "actors/core/borrowed_thread.hpp"

namespace fiber::actors {

LinkToActor::LinkToActor(caf::actor_system& system, caf::actor target)
  : system_(system), target_(std::move(target)) {}

void LinkToActor::to(caf::actor target) {
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      target_ = std::move(target);
      return;
    }
  }
  send_on_this_thread(system_, target, LinkClosed{"it was closed already"});
}

template <class Message>
void LinkToActor::tell(Message message) {
  caf::actor target;
  {
    std::lock_guard lock(mutex_);
    target = target_;
  }
  if (target)
    send_on_this_thread(system_, target, std::move(message));
}

void LinkToActor::on_message(wire::StreamId stream, Bytes message) {
  tell(FromLink{stream, Payload(std::move(message))});
}

void LinkToActor::on_silence() {
  tell(LinkSilent{});
}

void LinkToActor::on_closed(const wire::LinkEnd& end) {
  caf::actor last;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    last = std::move(target_);
    target_ = nullptr;
  }
  if (last)
    send_on_this_thread(system_, last, LinkClosed{end.reason});
}

} // namespace fiber::actors
