// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/objects/peer_introductions.hpp"
#include "actors/objects/peers.hpp"
#include "actors/protocol/object_protocol.hpp"
#include "fiber/callable.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

enum class Op : std::uint8_t;
class ObjectSpace;

/// Of an item that is put unasked; what is larger goes out by itself.
inline constexpr std::size_t most_recorded = 4096;

/// What came of a request. Who gets `value` tells the object so: ObjectSpace::tell() of
/// AskKind::took, once what `kept` lists is held here.
struct ObjectAnswer {
  Answer what = Answer::closed;
  Payload body = {};
  detail::KeptObjects kept = {}; ///< What handles in `body` stand for.
  /// For Answer::lost within this process, instead of `body`.
  std::exception_ptr error = nullptr;
};

/// Who answers for objects that live here, by ObjectSpace::answer(). Called by any
/// thread, which it must not hold up, and under no lock of the space.
class ObjectHome {
public:
  virtual ~ObjectHome() = default;
  virtual void asked(ObjectAsk ask) = 0;
  /// Nobody holds this object of it any more.
  virtual void freed(std::uint64_t number) = 0;
  /// Nothing more will come from there.
  virtual void gone(std::uint64_t process) = 0;
  /// The session ends.
  virtual void close() = 0;
};

/// An object as this process knows it, wherever it lives. Made by an ObjectSpace, one at
/// a time for each object; while it lives the object does.
class ObjectHandle final : public detail::Held {
public:
  ObjectHandle(std::weak_ptr<ObjectSpace> space, detail::HeldId id)
    : space_(std::move(space)), id_(id) {}
  ~ObjectHandle() override;
  detail::HeldId held_id() const override { return id_; }

  /// What its users in this process share, made by `make` if nobody has it now.
  template <class T, class Make>
  std::shared_ptr<T> users(Make make) {
    std::lock_guard lock(mutex_);
    auto known = std::static_pointer_cast<T>(users_.lock());
    if (!known)
      users_ = known = make();
    return known;
  }

  /// What its home tells those who have it, without having been asked.
  using OnTold =
    std::function<void(AskKind what, std::uint64_t request, const Payload& body)>;
  /// `f` must not block.
  void on_told(OnTold f) {
    std::lock_guard lock(mutex_);
    on_told_ = std::move(f);
  }
  void told(AskKind what, std::uint64_t request, const Payload& body) {
    std::unique_lock lock(mutex_);
    auto f = on_told_;
    lock.unlock();
    if (f)
      f(what, request, body);
  }

private:
  std::weak_ptr<ObjectSpace> space_;
  detail::HeldId id_;
  std::mutex mutex_;
  std::weak_ptr<void> users_;
  OnTold on_told_;
};

/// The objects of one process and its way to those of others: who lives here, who holds
/// what, which requests wait for an answer. A job has one neighbour, its driver; that has
/// every job, and passes on what is meant for another one. Jobs that say much to each
/// other get a link of their own (Peers), which changes nothing of this but the way.
///
/// Thread safety: any thread may call any member function.
class ObjectSpace : public std::enable_shared_from_this<ObjectSpace> {
public:
  using Done = std::function<void(std::uint64_t request, ObjectAnswer)>;

  /// `self` is this process's incarnation, `shared` looks a shared value up.
  ObjectSpace(caf::actor_system& system, std::uint64_t self,
              std::function<std::shared_ptr<const detail::Held>(std::uint64_t)> shared)
    : system_(system), self_(self), shared_(std::move(shared)), peers_(self) {}

  std::uint64_t self() const { return self_; }

  // -- of objects that live here --

  /// A new object, which `home` answers for.
  std::shared_ptr<ObjectHandle> add(std::shared_ptr<ObjectHome> home);
  /// The same with an actor, which gets ObjectAsk, ObjectFreed and ProcessGone; close()
  /// ends it.
  std::shared_ptr<ObjectHandle> add(const caf::actor& actor);
  void answer(const Asker& who, ObjectAnswer answer, Haste haste = Haste::now);
  /// Answers `refused`.
  void refuse(const Asker& who, std::string_view why);

  /// Tells the handle of that process, of an answer to it or of no request.
  void tell_user(std::uint64_t number, const Asker& who, AskKind what, Payload body = {});
  /// How many items of an answer a process has taken, as far as that can be known here.
  std::uint32_t taken(const Asker& who);
  /// That of a job, which records what it does; null if it can't.
  std::shared_ptr<JobLedger> ledger(std::uint64_t process);

  // -- of all objects --

  /// What `id` names. Null if that is gone, as far as can be known here.
  std::shared_ptr<const detail::Held> hold(const detail::HeldId& id);
  /// The same of what is no shared value.
  std::shared_ptr<ObjectHandle> handle(const detail::HeldId& id);
  /// Sends a request; `done` is called once, by any thread, and must not block. Returns
  /// the request's number.
  std::uint64_t ask(const detail::HeldId& object, AskKind what, Payload body,
                    detail::KeptObjects kept, Done done, Haste haste = Haste::now);
  /// Sends what is not answered. `request` is that of an earlier ask(), or 0.
  void tell(const detail::HeldId& object, std::uint64_t request, AskKind what,
            Payload body = {}, Haste haste = Haste::now);

  /// In a job with a ledger: puts an item into a channel of the driver. It is there even
  /// if this process ends now. False if this is not possible for it.
  bool put(const detail::HeldId& object, std::span<const std::byte> item);
  /// In a job: waits until what was sent to that process is out of this one. `promised`:
  /// what this job says to others later must be heard behind it.
  void flush(std::uint64_t to, bool promised = false);
  /// In a job: waits until what was flushed to others has arrived. To be called before
  /// anything is said that must not be heard before that.
  void settle_others(std::uint64_t to);
  /// Without waiting: whether it is.
  bool flush_now();
  /// Whether this thread runs actors, or what links bring: it must not wait for either.
  bool on_lent_thread() const;
  /// Makes it so while it lives, for an actor that a thread of CAF's runs.
  class Hearing {
  public:
    explicit Hearing(const ObjectSpace* space) : outer_(std::exchange(hearing_, space)) {}
    ~Hearing() { hearing_ = outer_; }
    Hearing(const Hearing&) = delete;
    Hearing& operator=(const Hearing&) = delete;

  private:
    const ObjectSpace* const outer_;
  };

  // -- of neighbours --

  void connect(std::uint64_t process, std::shared_ptr<wire::Link> link);
  /// Of a neighbour, or a job's own.
  void set_ledger(std::uint64_t process, std::shared_ptr<JobLedger> ledger);
  /// Nothing from there counts any more.
  void disconnect(std::uint64_t process);
  /// Reads what follows an Op that is of objects. Throws Error on anything malformed.
  void heard(std::uint64_t from, Op op, Reader& reader, const Payload& whole);
  /// What was just read from that process had handles in it: holds what they stand for,
  /// and then tells the neighbour that sent it here so, if `parcel` is not 0.
  detail::KeptObjects take_over(std::uint64_t from,
                                const std::vector<detail::HeldId>& held,
                                std::uint64_t parcel);
  /// Keeps them until received() of that number; 0 if none of them needs it.
  std::uint64_t park(detail::KeptObjects kept);
  void received(std::uint64_t from, std::uint64_t parcel);

  // -- of a job's peers: what their links bring, told by the thread that calls heard() --

  Peers& peers() { return peers_; }
  void heard_peer(std::uint64_t process, std::uint64_t link, const Payload& whole);
  void closed_peer(std::uint64_t process, std::uint64_t link);

  /// In the driver: what it has passed on from job to job.
  struct PassedOn {
    std::uint64_t messages = 0, bytes = 0;
  };
  PassedOn passed_on();

  /// Ends all objects that live here. What is asked from now on is answered at once.
  void close();
  /// Lets go of the links, when their jobs have ended.
  void drop_links();

private:
  friend class ObjectHandle;
  static constexpr std::uint64_t driver = 0;
  static thread_local const ObjectSpace* hearing_;
  class ActorHome;
  struct Home {
    std::shared_ptr<ObjectHome> home;
    std::weak_ptr<ObjectHandle> handle;
    std::set<std::uint64_t> users; ///< Other processes that have asked it.
  };
  /// What handles in a message stand for, until the neighbour that it went to holds that:
  /// who had sent it here may be gone before.
  struct Parcel {
    std::uint64_t to = 0;
    detail::KeptObjects kept;
  };
  struct Pending {
    std::uint64_t home = 0;
    detail::KeptObjects kept; ///< Until the home has them.
    Done done;
  };
  struct HeldThere {
    std::size_t count = 0;
    std::shared_ptr<const detail::Held> handle;
  };

  void dropped(const detail::HeldId& id);
  /// `kept` is what its handles stand for.
  void send(ObjectMessage message, const detail::KeptObjects& kept = {},
            Haste haste = Haste::now);
  std::uint64_t park_for(std::uint64_t neighbour, detail::KeptObjects kept);
  std::shared_ptr<ObjectHandle> handle_locked(const detail::HeldId& id);
  void tell_holding_locked(Op op, const detail::HeldId& id);
  /// To a process that can't be reached.
  void bounce(const ObjectMessage& message);
  void ask_here(const Asker& who, std::uint64_t number, AskKind what, Payload body,
                detail::KeptObjects kept, Haste haste = Haste::now);
  /// `from` is who answers.
  void finish(std::uint64_t from, std::uint64_t request, ObjectAnswer answer);
  void relay(std::uint64_t from, ObjectMessage message);
  void fail_requests_to(std::uint64_t process);
  std::shared_ptr<wire::Link> link_to(std::uint64_t process);
  void arrived(ObjectMessage message);
  /// From a job to a channel that lives here.
  void arrived_puts(std::uint64_t from, Reader& reader, const Payload& whole);
  void use_last_of(std::uint64_t process);
  void released(std::uint64_t from, const detail::HeldId& id);
  void introduce_locked(Op op, const std::optional<PeerCall>& call);

  caf::actor_system& system_;
  const std::uint64_t self_;
  const std::function<std::shared_ptr<const detail::Held>(std::uint64_t)> shared_;
  std::shared_mutex gate_; ///< Held exclusively while close() makes it the last time.
  std::mutex mutex_;
  std::atomic<bool> closed_ = false; ///< Set under both.
  std::uint64_t next_number_ = 1, next_request_ = 1, next_parcel_ = 1;
  std::map<std::uint64_t, Home> homes_;
  std::map<detail::HeldId, std::weak_ptr<ObjectHandle>> others_;
  std::map<std::uint64_t, Pending> pending_;
  std::map<std::uint64_t, Parcel> parcels_;
  std::map<std::uint64_t, std::shared_ptr<wire::Link>> links_;
  std::map<std::uint64_t, std::map<detail::HeldId, HeldThere>> held_for_; ///< Neighbours.
  std::map<std::uint64_t, std::shared_ptr<JobLedger>> ledgers_;
  std::mutex put_order_; ///< What is recorded goes out in the same order.
  std::map<std::uint64_t, std::set<std::uint64_t>>
    contacts_; ///< Processes that a neighbour has exchanged messages with.
  PassedOn passed_on_;
  PeerIntroductions introductions_;
  Peers peers_; ///< Has a lock of its own, which is taken after this one's.
  std::vector<detail::HeldId> late_releases_; ///< What the driver does not hold any more.
};

} // namespace fiber::actors
