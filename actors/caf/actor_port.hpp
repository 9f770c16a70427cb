// SPDX-License-Identifier: Apache-2.0
#pragma once

// caf/ lets the program's own CAF actors exchange messages with those of other processes.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <caf/all.hpp>

#include "actors/objects/kept_answers.hpp"
#include "actors/objects/object_space.hpp"
#include "fiber/detail/caf/message_content.hpp"
#include "fiber/detail/packed_item.hpp"

namespace fiber::actors {

/// The actor system of the program's own actors, made on first use. It is not that of the
/// session, whose actors borrow the threads that bring messages: an actor of a program
/// may block its thread.
class ProgramActors {
public:
  ProgramActors() = default;
  ProgramActors(const ProgramActors&) = delete;
  ProgramActors& operator=(const ProgramActors&) = delete;
  ~ProgramActors();

  caf::actor_system& system();
  /// Waits until all actors have ended, but at most 10 seconds; logs how many still run.
  void await_end();

private:
  bool await_end_locked();

  std::mutex mutex_;
  std::unique_ptr<caf::actor_system_config> config_;
  std::unique_ptr<caf::actor_system> system_;
};

/// Connects a program's CAF actors with the other processes of a session. An actor that
/// another process has a handle to is an object of the object space, and messages to it
/// are requests to the object.
///
/// The place of an actor is its object, wherever it lives. A proxy (RemoteActor) stands
/// for an actor of another process.
///
/// Thread safety: any thread may call any member function.
class ActorPort : public std::enable_shared_from_this<ActorPort> {
public:
  /// `session` identifies the session in handles: NodeBoot::session_tag.
  static std::shared_ptr<ActorPort> open(std::shared_ptr<ObjectSpace> objects,
                                         std::uint64_t session,
                                         std::shared_ptr<ProgramActors> actors);
  /// Returns the port of this session; null if this process has none.
  static std::shared_ptr<ActorPort> of(std::uint64_t session);
  /// Returns the port that was opened first; null if there is none.
  static std::shared_ptr<ActorPort> first();

  caf::actor_system& system() { return actors_->system(); }
  const std::shared_ptr<ProgramActors>& actors() const { return actors_; }
  ObjectSpace& objects() { return *objects_; }

  // -- handles --

  /// Returns the place of an actor of this process. For a proxy without a keeper, returns
  /// the place of its actor.
  std::shared_ptr<ObjectHandle> place_of(const caf::strong_actor_ptr& actor);
  /// Returns the actor at a place: itself if it lives in this process, else a proxy.
  caf::strong_actor_ptr actor_at(const std::shared_ptr<ObjectHandle>& place);
  /// Makes a proxy for a spawned actor, whose place may change.
  caf::strong_actor_ptr make_spawned_proxy(std::shared_ptr<ObjectHandle> place);

  void pack(Writer& writer, const caf::strong_actor_ptr& actor);
  /// Packs with the port of the innermost Scope; without one, with the port of a proxy or
  /// first().
  static void pack_here(Writer& writer, const caf::strong_actor_ptr& actor);
  /// Returns null if the actor is gone or was null.
  static caf::strong_actor_ptr unpack(Reader& reader);
  static std::shared_ptr<ObjectHandle> unpack_place(Reader& reader);

  /// While it lives, pack_here() uses `port` on this thread.
  class Scope {
  public:
    explicit Scope(ActorPort& port);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

  private:
    ActorPort* outer_;
  };

  // -- messages --

  /// Sends a message that `proxy` got to the actor at `to`.
  void send(const std::shared_ptr<ObjectHandle>& to, caf::mailbox_element_ptr what,
            const caf::strong_actor_ptr& proxy);
  void answer(const Asker& who, const detail::MessageContent& message);
  /// Calls `f` once, on any thread: with the actor's exit reason, or with nothing if its
  /// process is gone.
  using Ended = std::function<void(const std::optional<caf::error>& reason)>;
  void watch(const std::shared_ptr<ObjectHandle>& place, Ended f);

private:
  friend class RemoteActor;
  class LocalActor;

  ActorPort(std::shared_ptr<ObjectSpace> objects, std::uint64_t session,
            std::shared_ptr<ProgramActors> actors)
    : objects_(std::move(objects)), session_(session), actors_(std::move(actors)) {}

  static std::pair<std::shared_ptr<ActorPort>, std::shared_ptr<ObjectHandle>>
  read_handle(Reader& reader);
  caf::strong_actor_ptr make_proxy(std::shared_ptr<ObjectHandle> place);
  /// Returns a proxy even for an actor of this process: responses that it gets answer
  /// requests of other processes.
  caf::strong_actor_ptr proxy_at(const std::shared_ptr<ObjectHandle>& place);
  void forget_proxy(const detail::HeldId& id);
  void answered(const std::shared_ptr<ObjectHandle>& by,
                const caf::strong_actor_ptr& proxy, caf::mailbox_element& request,
                std::uint64_t number, const ObjectAnswer& answer);
  void asked(const caf::strong_actor_ptr& actor, ObjectAsk& ask);
  void take_message(const caf::strong_actor_ptr& actor, const Asker& who, Reader& reader);
  void send_answer(const Asker& who, detail::PackedItem item);

  const std::shared_ptr<ObjectSpace> objects_;
  const std::uint64_t session_;
  const std::shared_ptr<ProgramActors> actors_;
  std::mutex mutex_;
  std::map<caf::actor_id, std::weak_ptr<ObjectHandle>> places_; ///< Of local actors.
  std::map<std::uint64_t, caf::weak_actor_ptr>
    locals_; ///< Local actors by object number.
  std::map<detail::HeldId, caf::weak_actor_ptr> proxies_;
  KeptAnswers answers_;
};

} // namespace fiber::actors
