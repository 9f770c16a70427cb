// SPDX-License-Identifier: Apache-2.0
#include "actors/caf/remote_actor.hpp"

#include <utility>

#include <caf/all.hpp>

#include "actors/caf/actor_port.hpp"

namespace fiber::actors {
namespace {

constexpr std::size_t max_waiting = 4096;

} // namespace

RemoteActor::RemoteActor(caf::actor_config& config, std::shared_ptr<ActorPort> port,
                         std::shared_ptr<ObjectHandle> place)
  : caf::actor_proxy(config), port_(std::move(port)), place_(std::move(place)) {}

RemoteActor::~RemoteActor() {
  if (place_ && !keeper_)
    port_->forget_proxy(place_->held_id());
}

void RemoteActor::on_destroy() {
  if (!getf(is_cleaned_up_flag))
    cleanup(caf::exit_reason::unreachable, nullptr);
  caf::actor_proxy::on_destroy();
}

detail::Enqueued RemoteActor::enqueue(caf::mailbox_element_ptr what,
                                      caf::execution_unit*) {
  deliver(std::move(what));
  return detail::Enqueued(true);
}

void RemoteActor::deliver(caf::mailbox_element_ptr what) {
  if (what->mid.is_response())
    return answer(*what);
  std::shared_ptr<ObjectHandle> to;
  {
    std::unique_lock lock(place_mutex_);
    auto waits = !ended_ && !place_;
    if (waits && waiting_.size() < max_waiting) {
      waiting_.push_back(std::move(what));
      return;
    }
    if (ended_ || waits) {
      lock.unlock();
      return bounce(what, caf::make_error(caf::sec::request_receiver_down));
    }
    to = place_;
  }
  port_->send(to, std::move(what), ctrl());
}

/// Sends the response of an actor of this process to the request that it answers.
void RemoteActor::answer(const caf::mailbox_element& response) {
  Asker who;
  {
    std::lock_guard lock(place_mutex_);
    auto known = expected_.find(response.mid.request_id().integer_value());
    if (known == expected_.end())
      return;
    who = known->second.back();
    known->second.pop_back();
    if (known->second.empty())
      expected_.erase(known);
  }
  port_->answer(who, response.content());
}

void RemoteActor::expect_answer(caf::message_id mid, const Asker& who) {
  std::lock_guard lock(place_mutex_);
  // A delegated request comes back under the same number: the inner one is answered
  // first.
  expected_[mid.request_id().integer_value()].push_back(who);
}

void RemoteActor::attach(caf::attachable_ptr what) {
  caf::actor_proxy::attach(std::move(what));
  std::shared_ptr<ObjectHandle> place;
  {
    std::lock_guard lock(place_mutex_);
    if (!std::exchange(watched_, true))
      place = place_;
  }
  if (place) // The callback keeps this proxy alive until the actor ends.
    port_->watch(place, [self = caf::strong_actor_ptr(ctrl())](const auto& reason) {
      static_cast<RemoteActor*>(self->get())
        ->kill_proxy(nullptr, reason.value_or(
                                caf::error(caf::exit_reason::remote_link_unreachable)));
    });
}

void RemoteActor::kill_proxy(caf::execution_unit* host, caf::error reason) {
  std::deque<caf::mailbox_element_ptr> last;
  std::shared_ptr<void> keeper;
  std::shared_ptr<ObjectHandle> place;
  {
    std::lock_guard lock(place_mutex_);
    ended_ = true;
    last.swap(waiting_);
    keeper = keeper_;
    place.swap(place_);
  }
  if (place && !keeper)
    port_->forget_proxy(place->held_id());
  for (auto& what : last)
    bounce(what, caf::make_error(caf::sec::request_receiver_down));
  cleanup(std::move(reason), host);
}

std::shared_ptr<ObjectHandle> RemoteActor::place() const {
  std::lock_guard lock(place_mutex_);
  return place_;
}

bool RemoteActor::has_keeper() const {
  std::lock_guard lock(place_mutex_);
  return keeper_ != nullptr;
}

void RemoteActor::set_keeper(std::shared_ptr<void> keeper) {
  std::lock_guard lock(place_mutex_);
  keeper_ = std::move(keeper);
  watched_ = true;
}

void RemoteActor::drop_place() {
  std::lock_guard lock(place_mutex_);
  place_ = nullptr;
}

void RemoteActor::set_place(std::shared_ptr<ObjectHandle> place) {
  for (;;) { // place_ is set last, so that new messages queue behind the waiting ones.
    caf::mailbox_element_ptr next;
    {
      std::lock_guard lock(place_mutex_);
      if (ended_)
        return;
      if (waiting_.empty()) {
        place_ = std::move(place);
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    port_->send(place, std::move(next), ctrl());
  }
}

} // namespace fiber::actors
