// SPDX-License-Identifier: Apache-2.0
#include "libfiber/objects/object_core.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "actors/objects/this_job.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "actors/queue/channel.hpp"
#include "base/forked_child.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {
namespace {

constexpr std::size_t max_in_flight = std::size_t{1} << 20;

/// Returns the item's cost in the same measure as the channel's home uses.
std::size_t cost_of(const PackedItem& item) {
  return actors::Item::item_overhead + item.bytes.size() - sizeof(std::uint64_t);
}

} // namespace

// -- the object's view of this process --

ObjectPlace ObjectPlace::here() {
  if (auto* job = actors::ThisJob::get())
    return {.runtime = nullptr, .objects = job->objects, .session = job->session};
  return of(Runtime::require());
}

ObjectPlace ObjectPlace::of(const std::shared_ptr<Runtime>& runtime) {
  return {
    .runtime = runtime, .objects = runtime->objects(), .session = runtime->session_tag()};
}

std::function<bool()> ObjectPlace::run_one() const {
  if (!runtime || !runtime->is_inline())
    return nullptr;
  return [runtime = runtime, tasks_run = tasks_run] {
    auto one = runtime->run_one();
    *tasks_run += one ? 1 : 0;
    return one;
  };
}

std::shared_ptr<wire::Leadership> ObjectPlace::leadership() const {
  return runtime ? runtime->leadership() : actors::ThisJob::get()->leadership;
}

std::unique_ptr<WaitPoint> ObjectPlace::wait_point() const {
  return std::make_unique<WaitPoint>(run_one(), leadership());
}

bool ObjectPlace::wait(WaitPoint& point, const std::function<bool()>& fulfilled,
                       Clock::time_point limit) const {
  if (!runtime || !runtime->is_inline() || limit != Results::forever)
    return point.wait(fulfilled, limit);
  constexpr std::chrono::seconds patience{2}; // Then the wait is deadlocked.
  for (;;) {
    auto before = tasks_run->load();
    if (point.wait(fulfilled, Clock::now() + patience))
      return true;
    if (tasks_run->load() == before)
      throw Error("inline runs on one thread, and nothing is left to run that could end "
                  "this wait");
  }
}

void ObjectPlace::check_open() const {
  check_not_forked();
  if (runtime)
    runtime->check_open();
}

void ObjectPlace::check_may_wait() const {
  if (objects->on_borrowed_thread())
    throw Error("a stop callback must not wait for an object, a queue or a pipe");
}

void ObjectPlace::pack(Writer& writer, const std::shared_ptr<actors::ObjectHandle>& held,
                       const char* what) const {
  check_open();
  if (writer.compares())
    throw Error(std::string(what) + " cannot be an input of a call with a journal");
  KeepScope::keep(held);
  writer.put(session);
  writer.put(held->held_id());
}

std::pair<ObjectPlace, std::shared_ptr<actors::ObjectHandle>>
ObjectPlace::unpack(Reader& reader, const char* what) {
  auto session = reader.get<std::uint64_t>();
  return find(session, reader.get<HeldId>(), what);
}

std::pair<ObjectPlace, std::shared_ptr<actors::ObjectHandle>>
ObjectPlace::find(std::uint64_t session, const HeldId& id, const char* what) {
  auto place = here();
  // A job may also have a nested session.
  if (auto own = Runtime::current(); own && own->session_tag() == session)
    place = of(own);
  if (session != place.session)
    throw Error(std::string(what) + " of another session can't be used in this one");
  auto held = place.objects->handle(id);
  if (!held) {
    place.check_open();
    throw Error(std::string(what) + " that has ended can't be used");
  }
  return {std::move(place), std::move(held)};
}

// -- requests --

ObjectCore::ObjectCore(ObjectPlace place, std::shared_ptr<actors::ObjectHandle> held)
  : place_(std::move(place)), held_(std::move(held)), window_(place_.wait_point()) {}

std::optional<ObjectCore::Asked> ObjectCore::ask(actors::AskKind what, PackedItem body,
                                                 Clock::time_point limit,
                                                 const OnSeen& seen) {
  place_.check_open();
  place_.check_may_wait();
  actors::check_size(body.bytes.size());
  place_.objects->settle_others(id().home);
  struct Call {
    std::unique_ptr<WaitPoint> point;
    std::optional<actors::ObjectAnswer> answer;
  };
  auto cancelled = false;
  auto call = std::make_shared<Call>();
  call->point = place_.wait_point();
  auto request =
    place_.objects->ask(id(), what, Payload(std::move(body.bytes)), std::move(body.kept),
                        [call, seen](std::uint64_t of, actors::ObjectAnswer answer) {
                          if (seen)
                            seen(of, answer);
                          std::lock_guard lock(call->point->mutex());
                          call->answer = std::move(answer);
                          call->point->wake();
                        });
  std::function<bool()> answered = [&] { return call->answer.has_value(); };
  try {
    if (!place_.wait(*call->point, answered, limit)) {
      cancelled = true;
      place_.objects->tell(id(), request, actors::AskKind::cancel);
      call->point->wait(answered, Results::forever);
    }
  } catch (const Error&) { // An inline session is deadlocked.
    cancelled = true;
    place_.objects->tell(id(), request, actors::AskKind::cancel);
    for (auto there = false; !there; std::this_thread::yield()) {
      // Another thread may be running the object's actor.
      std::lock_guard lock(call->point->mutex());
      there = answered();
    }
    if (call->answer->what == actors::Answer::cancelled)
      throw;
  }
  if (call->answer->what == actors::Answer::cancelled) {
    if (cancelled)
      return std::nullopt;
    // The home misbehaves: nothing was cancelled.
    call->answer->what = actors::Answer::closed;
  }
  return Asked{request, std::move(*call->answer)};
}

std::uint64_t ObjectCore::post(actors::AskKind what, PackedItem item, OnAnswer then,
                               actors::Haste haste) {
  place_.check_open();
  actors::check_size(item.bytes.size());
  place_.objects->settle_others(id().home);
  return place_.objects->ask(id(), what, Payload(std::move(item.bytes)),
                             std::move(item.kept), std::move(then), haste);
}

bool ObjectCore::enter_window(const PackedItem& item, Clock::time_point limit) {
  place_.check_open();
  place_.check_may_wait();
  actors::check_size(item.bytes.size());
  auto size = cost_of(item);
  auto may_go = [&] {
    return closed_ || in_flight_ == 0 || in_flight_ + size <= max_in_flight;
  };
  for (;;) {
    {
      std::lock_guard lock(window_->mutex());
      if (closed_)
        fail_closed();
      if (may_go()) {
        in_flight_ += size;
        return true;
      }
    }
    if (!place_.wait(*window_, may_go, limit))
      return false;
  }
}

void ObjectCore::leave_window(std::size_t cost) {
  std::lock_guard lock(window_->mutex());
  in_flight_ -= std::min(cost, in_flight_);
  window_->wake();
}

bool ObjectCore::send(actors::AskKind what, PackedItem item, Clock::time_point limit) {
  if (!enter_window(item, limit))
    return false;
  auto size = cost_of(item);
  auto answered = [known = shared_from_this(), size](std::uint64_t, const auto& answer) {
    known->leave_window(size);
    if (answer.what == actors::Answer::closed)
      known->refuse_sends();
  };
  // A job sends each item at once, so that it has left when send() returns.
  auto haste = place_.runtime ? actors::Haste::soon : actors::Haste::now;
  post(what, std::move(item), std::move(answered), haste);
  place_.objects->flush(id().home, true);
  std::lock_guard lock(window_->mutex());
  if (closed_)
    fail_closed();
  return true;
}

void ObjectCore::refuse_sends() {
  std::lock_guard lock(window_->mutex());
  closed_ = true;
  window_->wake();
}

} // namespace fiber::detail
