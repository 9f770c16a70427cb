// SPDX-License-Identifier: Apache-2.0
#include "libfiber/sync/sync_core.hpp"

#include <atomic>
#include <string>
#include <utility>

#include <unistd.h>

#include "actors/objects/this_job.hpp"
#include "actors/sync/sync_actor.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {
namespace {

actors::SyncThread this_thread() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const auto number = ++last; // Unlike thread ids, never reused.
  return {number, static_cast<std::uint32_t>(getpid()),
          static_cast<std::uint32_t>(gettid())};
}

} // namespace

// -- handles --

std::shared_ptr<SyncCore> SyncCore::of(const ObjectPlace& place,
                                       const std::shared_ptr<actors::ObjectHandle>& held,
                                       SyncKind kind, std::uint64_t n) {
  return held->shared_state<SyncCore>(
    [&] { return std::shared_ptr<SyncCore>(new SyncCore(place, held, kind, n)); });
}

std::shared_ptr<SyncCore> SyncCore::open(SyncKind kind, std::uint64_t n,
                                         bool of_manager) {
  if (kind == SyncKind::barrier && n == 0)
    throw ConfigError("parties", "Barrier", "1 or more",
                      "nobody could wait for 0 parties");
  auto place = of_manager ? ObjectPlace::of(Runtime::require()) : ObjectPlace::here();
  auto open = [&](caf::actor_system& system) {
    return actors::open_sync(system, place.objects, kind, n);
  };
  auto held = place.runtime ? place.runtime->with_system(open)
                            : open(actors::ThisJob::get()->system());
  return of(place, held, kind, n);
}

void SyncCore::pack(Writer& writer) const {
  place_.pack(writer, held_, actors::name_of(kind_));
  writer.put(kind_);
  writer.put(n_);
}

std::shared_ptr<SyncCore> SyncCore::unpack(Reader& reader, SyncKind kind) {
  auto [place, held] = ObjectPlace::unpack(reader, actors::name_of(kind));
  if (reader.get<std::uint8_t>() != static_cast<std::uint8_t>(kind))
    throw Error(std::string("this handle does not stand for ") + actors::name_of(kind));
  return of(place, held, kind, reader.get<std::uint64_t>());
}

// -- requests --

std::optional<std::uint64_t> SyncCore::run(SyncOp op, std::uint64_t n,
                                           Clock::time_point limit) {
  PackedItem body;
  Writer writer(body.bytes);
  write(writer, actors::SyncRequest{op, this_thread(), n});
  auto asked = ask(actors::AskKind::call, std::move(body), limit);
  if (!asked)
    return std::nullopt;
  Reader reader(asked->answer.body.bytes());
  switch (asked->answer.what) {
  case actors::Answer::done:
    return 0;
  case actors::Answer::value:
    return reader.get<std::uint64_t>();
  case actors::Answer::refused:
    throw Error(reader.text());
  default:
    fail_closed();
  }
}

void SyncCore::fail_closed() const {
  place_.check_open();
  throw Closed(actors::name_of(kind_) +
               std::string(" can't be used when the process that it lived in has ended"));
}

bool SyncCore::acquire(Clock::time_point limit) {
  if (limit <= Clock::now()) // Saves a message: no request to cancel.
    return call(SyncOp::try_acquire, 0) != 0;
  return run(SyncOp::acquire, 0, limit).has_value();
}

void SyncCore::unlock() {
  try {
    call(SyncOp::release, 1);
  } catch (const Closed&) { // The lock is gone with its home.
  }
}

std::optional<std::uint64_t> SyncCore::wait(Clock::time_point limit) {
  auto value = run(SyncOp::wait, 0, limit);
  // A timed-out condition reacquires the lock before it answers. If the limit has not
  // passed, ObjectPlace::wait found a deadlock.
  if (kind_ == SyncKind::condition && value == 0U && Clock::now() < limit)
    throw Error("inline runs on one thread, and nothing is left to run that could notify "
                "this Condition");
  return value;
}

std::uint64_t SyncCore::call(SyncOp op, std::uint64_t n) {
  return run(op, n, Results::forever).value();
}

// -- SyncHandle --

SyncHandle SyncHandle::open(SyncKind kind, std::uint64_t n, bool of_manager) {
  return SyncHandle(SyncCore::open(kind, n, of_manager));
}
bool SyncHandle::acquire(TimePoint limit) const {
  return core_->acquire(limit);
}
void SyncHandle::unlock() const {
  core_->unlock();
}
std::optional<std::uint64_t> SyncHandle::wait(TimePoint limit) const {
  return core_->wait(limit);
}
std::uint64_t SyncHandle::call(SyncOp op, std::uint64_t n) const {
  return core_->call(op, n);
}
std::uint64_t SyncHandle::n() const {
  return core_->n();
}
bool SyncHandle::operator==(const SyncHandle& other) const {
  return core_->id() == other.core_->id();
}
void SyncHandle::fiber_pack(Writer& writer) const {
  core_->pack(writer);
}
SyncHandle SyncHandle::unpack(Reader& reader, SyncKind kind) {
  return SyncHandle(SyncCore::unpack(reader, kind));
}

} // namespace fiber::detail
