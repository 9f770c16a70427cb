// SPDX-License-Identifier: Apache-2.0
#include "actors/sync/sync_actor.hpp"

#include <string>
#include <utility>

#include <caf/all.hpp>

namespace fiber::actors {
namespace {

struct SyncState {
  static constexpr const char* name = "fiber.sync";

  explicit SyncState(caf::event_based_actor* self) : self(self) {}
  /// Answers all waiting requests, however the actor ends.
  ~SyncState() {
    if (object)
      for (auto& who : object->waiting())
        space->answer(who, {});
  }

  caf::behavior make_behavior(std::shared_ptr<ObjectSpace> of, SyncKind kind,
                              std::uint64_t n) {
    space = std::move(of);
    object = new_sync_object(kind, n);
    return {
      [this](ObjectAsk& ask) { asked(ask); },
      [this](const ProcessGone& gone) { reply(object->gone(gone.process)); },
      [this](ObjectFreed) { self->quit(); },
    };
  }

  void asked(ObjectAsk& ask) {
    switch (ask.what) {
    case AskKind::call:
      return call(ask);
    case AskKind::cancel:
      return reply(object->cancel(ask.who));
    case AskKind::took:
      return;
    default:
      reply({{ask.who, Answer::refused, 0, "it is neither a queue nor a pipe"}});
    }
  }

  void call(ObjectAsk& ask) {
    SyncRequest request;
    try {
      Reader reader(ask.body.bytes());
      request = read_sync_request(reader);
    } catch (const std::exception& error) {
      return reply({{ask.who, Answer::refused, 0,
                     std::string("the request is malformed: ") + error.what()}});
    }
    reply(object->asked(ask.who, request));
  }

  void reply(const SyncObject::Replies& replies) {
    for (auto& each : replies) {
      Bytes body;
      Writer writer(body);
      if (each.what == Answer::value)
        writer.put(each.value);
      else if (each.what == Answer::refused)
        writer.text(each.why);
      space->answer(each.to, {each.what, Payload(std::move(body))});
    }
  }

  caf::event_based_actor* self;
  std::shared_ptr<ObjectSpace> space;
  std::unique_ptr<SyncObject> object;
};

} // namespace

std::shared_ptr<ObjectHandle> open_sync(caf::actor_system& system,
                                        const std::shared_ptr<ObjectSpace>& space,
                                        SyncKind kind, std::uint64_t n) {
  auto actor = system.spawn(
    [](caf::stateful_actor<SyncState>* self, const std::shared_ptr<ObjectSpace>& of,
       SyncKind what,
       std::uint64_t with) { return self->state.make_behavior(of, what, with); },
    space, kind, n);
  return space->add(actor);
}

} // namespace fiber::actors
