// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/link_to_actor.hpp"

#include <limits>
#include <utility>

#include "actors/core/borrowed_thread.hpp"

namespace fiber::actors {
namespace {

/// All links of a process together may have so many bytes waiting...
constexpr std::size_t process_limit = std::size_t{256} << 20;
/// ...but a link that has less than this is never the one that has to wait.
constexpr std::size_t fair_share = std::size_t{64} << 10;
/// What a message costs besides its bytes: an element of a mailbox, and what is made of
/// it.
constexpr std::size_t message_cost = 512;

/// Counts a message as long as it exists.
class Counted {
public:
  Counted(std::shared_ptr<WaitingBytes> own, std::shared_ptr<WaitingBytes> all,
          std::size_t bytes)
    : own_(std::move(own)), all_(std::move(all)), bytes_(bytes) {
    own_->count += bytes_;
    all_->count += bytes_;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    own_->count -= bytes_;
    all_->count -= bytes_;
  }

private:
  std::shared_ptr<WaitingBytes> own_, all_;
  std::size_t bytes_;
};

} // namespace

LinkToActor::LinkToActor(caf::actor_system& system, caf::actor target,
                         std::shared_ptr<WaitingBytes> all)
  : system_(system), all_(std::move(all)), own_(std::make_shared<WaitingBytes>()),
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
  auto waits = std::make_shared<Counted>(own_, all_, message.size() + message_cost);
  tell(FromLink{stream, Payload(std::move(message)), std::move(waits)});
}

std::size_t LinkToActor::waiting() const {
  const std::size_t own = own_->count;
  const bool too_much = own > fair_share && all_->count > process_limit;
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
