// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/link_to_actor.hpp"

#include <limits>
#include <utility>

#include "actors/core/borrowed_thread.hpp"

namespace fiber::actors {
namespace {

/// If the unread messages of all links of a process exceed this many bytes, links stop
/// reading...
constexpr std::size_t process_limit = std::size_t{256} << 20;
/// ...except links whose own unread messages are below this many bytes.
constexpr std::size_t fair_share = std::size_t{64} << 10;
/// The memory of a message besides its bytes: an element of a mailbox, and the objects
/// that are made from the message.
constexpr std::size_t message_cost = 512;

/// Counts a message as long as it exists.
class Counted {
public:
  Counted(std::shared_ptr<LinkWaitingBytes> link, std::size_t bytes)
    : link_(std::move(link)), bytes_(bytes) {
    link_->count += bytes_;
    link_->all->count += bytes_;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    link_->count -= bytes_;
    link_->all->count -= bytes_;
  }

private:
  std::shared_ptr<LinkWaitingBytes> link_;
  std::size_t bytes_;
};

} // namespace

LinkToActor::LinkToActor(caf::actor_system& system, caf::actor target,
                         std::shared_ptr<WaitingBytes> all)
  : system_(system), waiting_(std::make_shared<LinkWaitingBytes>(std::move(all))),
    target_(std::move(target)) {}

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
  auto waits = std::make_shared<Counted>(waiting_, message.size() + message_cost);
  tell(FromLink{stream, Payload(std::move(message)), std::move(waits)});
}

std::size_t LinkToActor::waiting() const {
  const std::size_t own = waiting_->count;
  const bool too_much = own > fair_share && waiting_->all->count > process_limit;
  return too_much ? std::numeric_limits<std::size_t>::max() : own;
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
