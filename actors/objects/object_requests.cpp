// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <utility>

#include "actors/objects/object_space.hpp"
#include "actors/protocol/node_protocol.hpp"

// Requests to objects, and their answers.

namespace fiber::actors {
namespace {

std::vector<detail::HeldId> ids_of(const detail::KeptObjects& kept) {
  std::vector<detail::HeldId> ids;
  for (auto& object : kept)
    ids.push_back(object->held_id());
  return ids;
}

} // namespace

std::uint64_t ObjectSpace::ask(const detail::HeldId& object, AskKind what, Payload body,
                               detail::KeptObjects kept, Done done, Haste haste) {
  std::unique_lock lock(mutex_);
  auto request = next_request_++;
  if (closed_) {
    lock.unlock();
    done(request, {});
    return request;
  }
  pending_[request] = {object.home, kept, std::move(done)};
  lock.unlock();
  if (object.home == self_)
    ask_here({self_, request}, object.number, what, std::move(body), std::move(kept),
             haste);
  else
    send({.to = object.home,
          .from = self_,
          .object = object.number,
          .request = request,
          .what = static_cast<std::uint8_t>(what),
          .held = ids_of(kept),
          .body = std::move(body)},
         kept, haste);
  return request;
}

void ObjectSpace::tell(const detail::HeldId& object, std::uint64_t request, AskKind what,
                       Payload body, Haste haste) {
  if (object.home == self_)
    ask_here({self_, request}, object.number, what, std::move(body), {});
  else
    send({.to = object.home,
          .from = self_,
          .object = object.number,
          .request = request,
          .what = static_cast<std::uint8_t>(what),
          .held = {},
          .body = std::move(body)},
         {}, haste);
}

void ObjectSpace::tell_holder(std::uint64_t number, const Asker& who, AskKind what,
                              Payload body) {
  send({.to = who.process,
        .from = self_,
        .object = number,
        .request = who.request,
        .what = static_cast<std::uint8_t>(what),
        .held = {},
        .body = std::move(body)});
}

void ObjectSpace::ask_here(const Asker& who, std::uint64_t number, AskKind what,
                           Payload body, detail::KeptObjects kept, Haste haste) {
  std::shared_ptr<ObjectHome> home;
  {
    std::lock_guard lock(mutex_);
    auto known = homes_.find(number);
    if (!closed_ && known != homes_.end()) {
      home = known->second.home;
      if (who.process != self_)
        known->second.requesters.insert(who.process);
    }
  }
  if (home)
    home->asked({who, number, what, std::move(body), std::move(kept), haste});
  else if (what == AskKind::puts)
    tell_holder(number, who, AskKind::shut);
  else
    answer(who, {});
}

void ObjectSpace::answer(const Asker& who, ObjectAnswer answer, Haste haste) {
  if (who.process == self_) {
    finish(self_, who.request, std::move(answer));
    return;
  }
  send({.to = who.process,
        .from = self_,
        .object = 0,
        .request = who.request,
        .what = static_cast<std::uint8_t>(answer.what),
        .held = ids_of(answer.kept),
        .body = std::move(answer.body)},
       answer.kept, haste);
}

void ObjectSpace::refuse(const Asker& who, std::string_view why) {
  Bytes body;
  Writer(body).text(why);
  answer(who, {.what = Answer::refused, .body = Payload(std::move(body))});
}

void ObjectSpace::finish(std::uint64_t from, std::uint64_t request, ObjectAnswer answer) {
  Pending pending;
  {
    std::lock_guard lock(mutex_);
    auto known = pending_.find(request);
    if (known == pending_.end() || known->second.home != from)
      return;
    pending = std::move(known->second);
    pending_.erase(known);
  }
  pending.done(request, std::move(answer));
}

void ObjectSpace::fail_requests_to(std::uint64_t process) {
  std::vector<std::uint64_t> requests;
  {
    std::lock_guard lock(mutex_);
    for (auto& [request, pending] : pending_)
      if (pending.home == process)
        requests.push_back(request);
  }
  for (auto request : requests)
    finish(process, request, {});
}

std::shared_ptr<wire::Link> ObjectSpace::link_to(std::uint64_t process) {
  std::lock_guard lock(mutex_);
  auto link = links_.find(self_ == driver ? process : driver);
  return link == links_.end() ? nullptr : link->second;
}

void ObjectSpace::send(ObjectMessage message, const detail::KeptObjects& kept,
                       Haste haste) {
  auto to_peer = self_ != driver && message.to != driver;
  // Between the driver and a job, other messages already tell the sender when the
  // receiver holds the objects.
  if (to_peer && !kept.empty())
    message.parcel = keep_until_received(kept);
  auto link = link_to(message.to);
  if (!link)
    bounce(message);
  else if (to_peer)
    peers_.send(std::move(message), haste);
  else
    actors::send(*link, message, haste);
}

bool ObjectSpace::flush_now() {
  auto link = self_ == driver ? nullptr : link_to(driver);
  return link && link->flush(std::chrono::milliseconds(0));
}

void ObjectSpace::settle_others(std::uint64_t to) {
  if (!on_borrowed_thread()) // That thread may be the one that reads the acknowledgement.
    peers_.settle_others(to);
}

void ObjectSpace::flush(std::uint64_t to, bool promised) {
  if (self_ == driver)
    return; // All jobs end with the driver.
  if (to != driver)
    peers_.flush(to, promised);
  if (auto link = link_to(driver))
    link->flush();
}

} // namespace fiber::actors
