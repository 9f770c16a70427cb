// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include "fiber/detail/packed_item.hpp"

namespace fiber::actors {

/// The system that a program's own actors live in, made when it is first asked for. Not
/// that of the session: threads that bring messages are lent to its actors, which those
/// of a program may hold up.
class ProgramActors {
public:
  ProgramActors() = default;
  ProgramActors(const ProgramActors&) = delete;
  ProgramActors& operator=(const ProgramActors&) = delete;
  ~ProgramActors();

  caf::actor_system& system();
  /// Waits until all actors have ended; after some seconds they are left to themselves.
  void await_end();

private:
  bool await_end_locked();

  std::mutex mutex_;
  std::unique_ptr<caf::actor_system_config> config_;
  std::unique_ptr<caf::actor_system> system_;
};

/// The way of a program's CAF actors to other processes of a session, and of what is sent
/// to them from there. An actor that another process has a handle to is an object of the
/// object space, whose messages are its requests.
///
/// Thread safety: any thread may call any member function.
class ActorPort : public std::enable_shared_from_this<ActorPort> {
public:
  /// `session`: by which its handles are told from those of other sessions.
  static std::shared_ptr<ActorPort> open(std::shared_ptr<ObjectSpace> objects,
                                         std::uint64_t session,
                                         std::shared_ptr<ProgramActors> actors);
  /// That of this session; null if it is not open here.
  static std::shared_ptr<ActorPort> of(std::uint64_t session);
  /// The one that was opened first; null if there is none.
  static std::shared_ptr<ActorPort> first();

  caf::actor_system& system() { return actors_->system(); }
  const std::shared_ptr<ProgramActors>& actors() const { return actors_; }
  ObjectSpace& objects() { return *objects_; }

  // -- handles --

  /// An actor of this process as others know it; that of a proxy is where its actor is.
  std::shared_ptr<ObjectHandle> place_of(const caf::strong_actor_ptr& actor);
  /// The actor at a place: itself, or a proxy.
  caf::strong_actor_ptr actor_at(const std::shared_ptr<ObjectHandle>& place);
  /// A proxy that moves from place to place.
  caf::strong_actor_ptr spawned(std::shared_ptr<ObjectHandle> place);

  void pack(Writer& writer, const caf::strong_actor_ptr& actor);
  /// The same by the port that it is packed for: see Scope.
  static void pack_here(Writer& writer, const caf::strong_actor_ptr& actor);
  /// Null if there is no actor any more, or was none.
  static caf::strong_actor_ptr unpack(Reader& reader);
  static std::shared_ptr<ObjectHandle> unpack_place(Reader& reader);

  /// Handles in what this thread packs are of this port.
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

  /// `proxy`: whom it was sent to here.
  void send(const std::shared_ptr<ObjectHandle>& to, caf::mailbox_element_ptr what,
            const caf::strong_actor_ptr& proxy);
  void answer(const Asker& who, const caf::type_erased_tuple& message);
  /// `f` is called once, by any thread: with the reason of the actor's end, or with
  /// nothing if its process is gone.
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
  /// A proxy even of an actor of this process: what it is sent answers requests.
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
  std::map<caf::actor_id, std::weak_ptr<ObjectHandle>> places_; ///< Of actors here.
  std::map<std::uint64_t, caf::weak_actor_ptr> locals_;         ///< The same, by number.
  std::map<detail::HeldId, caf::weak_actor_ptr> proxies_;
  KeptAnswers answers_;
};

} // namespace fiber::actors
