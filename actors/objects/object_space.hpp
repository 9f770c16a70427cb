// SPDX-License-Identifier: Apache-2.0
#pragma once

// objects/ lets the processes of a session hold objects of each other and send requests
// to them: queues, locks, managed objects, actors. It counts holders and passes requests
// and answers on; what an object does is up to its home.

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
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/objects/peer_introductions.hpp"
#include "actors/objects/peers.hpp"
#include "actors/protocol/object_protocol.hpp"
#include "base/random_id.hpp"
#include "fiber/callable.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

enum class Op : std::uint8_t;
class ObjectSpace;

/// The largest item in bytes that put() records in the ledger; a larger one is sent as a
/// request.
inline constexpr std::size_t max_recorded_bytes = 4096;

/// The answer to a request. The receiver of a `value` acknowledges it to the object, by
/// ObjectSpace::tell() of AskKind::took, once it holds what `kept` lists.
struct ObjectAnswer {
  Answer what = Answer::closed;
  Payload body = {};
  detail::KeptObjects kept = {}; ///< The objects that handles in `body` refer to.
  /// Replaces `body` for Answer::lost within this process.
  std::exception_ptr error = nullptr;
};

/// Answers the requests to one or more objects of this process, by ObjectSpace::answer().
/// Any thread may call it, without a lock of the space; it must not block.
class ObjectHome {
public:
  virtual ~ObjectHome() = default;
  virtual void asked(ObjectAsk ask) = 0;
  /// No process holds this object any more.
  virtual void freed(std::uint64_t number) = 0;
  /// Nothing more will come from this process.
  virtual void gone(std::uint64_t process) = 0;
  /// The session ends.
  virtual void close() = 0;
};

/// This process's hold on an object, wherever the object lives: it keeps the object
/// alive. An ObjectSpace makes at most one at a time for each object.
class ObjectHandle final : public detail::Held {
public:
  ObjectHandle(std::weak_ptr<ObjectSpace> space, detail::HeldId id)
    : space_(std::move(space)), id_(id) {}
  ~ObjectHandle() override;
  detail::HeldId held_id() const override { return id_; }

  /// The state that the users of the object in this process share. Calls `make` if there
  /// is none now.
  template <class T, class Make>
  std::shared_ptr<T> shared_state(Make make) {
    std::lock_guard lock(mutex_);
    auto known = std::static_pointer_cast<T>(shared_state_.lock());
    if (!known)
      shared_state_ = known = make();
    return known;
  }

  /// Receives what the object's home tells its holders unasked.
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
  std::weak_ptr<void> shared_state_;
  OnTold on_told_;
};

/// The objects that live in this process (their home), the handles of this process to
/// objects of others, and the requests that wait for an answer.
///
/// A neighbour is a process at the other end of a link: a job has one, the driver; the
/// driver has every job, and passes messages on from job to job. Jobs that exchange many
/// messages get a direct link (Peers), which changes only the route of messages.
///
/// Thread safety: any thread may call any member function.
class ObjectSpace : public std::enable_shared_from_this<ObjectSpace> {
public:
  using Done = std::function<void(std::uint64_t request, ObjectAnswer)>;

  /// `system` has the actors that answer requests; if it is null, the first add() of an
  /// actor sets it. `self` is this process's incarnation, `shared` looks a shared value
  /// up. `number` numbers the objects of this process. Whoever knows an object's number
  /// may send requests to it, so a number must be hard to guess.
  ObjectSpace(caf::actor_system* system, std::uint64_t self,
              std::function<std::shared_ptr<const detail::Held>(std::uint64_t)> shared,
              std::function<std::uint64_t()> number = secret_number)
    : system_(system), self_(self), shared_(std::move(shared)),
      number_(std::move(number)), peers_(self) {}

  std::uint64_t self() const { return self_; }

  // -- for objects that live here --

  /// Adds an object whose requests `home` answers.
  std::shared_ptr<ObjectHandle> add(std::shared_ptr<ObjectHome> home);
  /// Adds an object whose requests an actor answers. It gets ObjectAsk, ObjectFreed and
  /// ProcessGone; close() ends it.
  std::shared_ptr<ObjectHandle> add(const caf::actor& actor);
  void answer(const Asker& who, ObjectAnswer answer, Haste haste = Haste::now);
  /// Answers with Answer::refused.
  void refuse(const Asker& who, std::string_view why);

  /// Calls ObjectHandle::told() in the process of `who`. Its request is one that was
  /// answered, or 0.
  void tell_holder(std::uint64_t number, const Asker& who, AskKind what,
                   Payload body = {});
  /// Returns how many items of an answer the process has recorded as taken; 0 if it has
  /// no ledger.
  std::uint32_t taken(const Asker& who);
  /// Returns the ledger of a job; null if it has none.
  std::shared_ptr<JobLedger> ledger(std::uint64_t process);
  /// Returns the name of a job while ObjectHome::gone() is called for it; empty if this
  /// process does not know it.
  std::string gone_job(std::uint64_t process);

  // -- for all objects --

  /// Returns a hold on the object; null if this process knows that the object is gone.
  std::shared_ptr<const detail::Held> hold(const detail::HeldId& id);
  /// The same for an object that is not a shared value.
  std::shared_ptr<ObjectHandle> handle(const detail::HeldId& id);
  /// Sends a request and returns its number. `done` is called once, by any thread, and
  /// must not block.
  std::uint64_t ask(const detail::HeldId& object, AskKind what, Payload body,
                    detail::KeptObjects kept, Done done, Haste haste = Haste::now);
  /// Sends a message that is not answered. `request` is the number of an earlier ask(),
  /// or 0.
  void tell(const detail::HeldId& object, std::uint64_t request, AskKind what,
            Payload body = {}, Haste haste = Haste::now);

  /// In a job with a ledger: puts an item into a channel of the driver without waiting
  /// for an answer. The item is safe even if this process ends at once. False if the
  /// channel is elsewhere, the item is too large or there is no ledger.
  bool put(const detail::HeldId& object, std::span<const std::byte> item);
  /// In a job: waits until what was sent to the process `to` has left this machine, so
  /// that it arrives even if this process is killed.
  /// `promised`: later messages of this job to others must not overtake it.
  void flush(std::uint64_t to, bool promised = false);
  /// In a job: waits until what was flushed to processes other than `to` has arrived. To
  /// be called before a message that must not overtake it.
  void settle_others(std::uint64_t to);
  /// Returns, without waiting, whether everything sent to the driver has left this
  /// machine. False in the driver.
  bool flush_now();
  /// Whether this thread runs actors, handles messages of links or calls stop callbacks;
  /// it must not wait for either of the first two.
  bool on_borrowed_thread() const;
  /// Makes on_borrowed_thread() true while it lives: for a thread that handles messages
  /// of a link, or calls stop callbacks.
  class BorrowedThreadScope {
  public:
    explicit BorrowedThreadScope(const ObjectSpace* space)
      : outer_(std::exchange(borrowing_, space)) {}
    ~BorrowedThreadScope() { borrowing_ = outer_; }
    BorrowedThreadScope(const BorrowedThreadScope&) = delete;
    BorrowedThreadScope& operator=(const BorrowedThreadScope&) = delete;

  private:
    const ObjectSpace* const outer_;
  };

  // -- for neighbours --

  /// See call_to_dial(). Call it before the first job.
  void allow_tunnels() { introductions_.allow_tunnels(); }
  void connect(std::uint64_t process, std::shared_ptr<wire::Link> link);
  /// Sets the ledger of a neighbour, or of this job.
  void set_ledger(std::uint64_t process, std::shared_ptr<JobLedger> ledger);
  /// Drops the process: its later messages are ignored, its requests are forgotten, and
  /// it holds nothing any more. `job` is its name, if known.
  void disconnect(std::uint64_t process, const std::string& job = {});
  /// Handles an operation on objects; `reader` is behind its Op. Throws Error on
  /// malformed input.
  void heard(std::uint64_t from, Op op, Reader& reader, const Payload& whole);
  /// Holds the objects that handles in a message from `from` refer to. If `parcel` is not
  /// 0, acknowledges it to the neighbour that sent the message.
  detail::KeptObjects take_over(std::uint64_t from,
                                const std::vector<detail::HeldId>& held,
                                std::uint64_t parcel);
  /// Keeps the objects of a message to the driver until received() of the returned
  /// number. Returns 0 if none of them needs it.
  std::uint64_t keep_until_received(detail::KeptObjects kept);
  void received(std::uint64_t from, std::uint64_t parcel);

  // -- for direct links to other jobs; called by the thread that calls heard() --

  Peers& peers() { return peers_; }
  void heard_peer(std::uint64_t process, std::uint64_t link, const Payload& whole);
  void closed_peer(std::uint64_t process, std::uint64_t link);

  /// Messages that the driver has passed on from job to job.
  struct PassedOn {
    std::uint64_t messages = 0, bytes = 0;
  };
  PassedOn passed_on();

  /// Ends all objects that live here. Later requests are answered `closed` at once.
  void close();
  /// Releases the links, after their jobs have ended.
  void drop_links();

private:
  friend class ObjectHandle;
  static constexpr std::uint64_t driver = 0;
  static thread_local const ObjectSpace* borrowing_;
  class ActorHome;
  struct Home {
    std::shared_ptr<ObjectHome> home;
    std::weak_ptr<ObjectHandle> handle;
    std::set<std::uint64_t> requesters; ///< Other processes that have sent it requests.
  };
  /// The objects that a message in flight refers to, kept alive until the neighbour that
  /// it went to holds them: the process that sent the message here may be gone by then.
  struct Parcel {
    std::uint64_t to = 0;
    detail::KeptObjects kept;
  };
  struct Pending {
    std::uint64_t home = 0;
    detail::KeptObjects kept; ///< Objects in the request, until it is answered.
    Done done;
  };
  /// An object that a neighbour holds, and how often.
  struct NeighbourHold {
    std::size_t count = 0;
    std::shared_ptr<const detail::Held> handle;
  };

  void dropped(const detail::HeldId& id);
  std::uint64_t fresh_number_locked();
  /// `kept` are the objects that handles in the message refer to.
  void send(ObjectMessage message, const detail::KeptObjects& kept = {},
            Haste haste = Haste::now);
  std::uint64_t keep_until_received_by(std::uint64_t neighbour, detail::KeptObjects kept);
  std::shared_ptr<ObjectHandle> handle_locked(const detail::HeldId& id);
  void tell_holding_locked(Op op, const detail::HeldId& id);
  /// Reports that the receiver of a request can't be reached.
  void bounce(const ObjectMessage& message);
  void ask_here(const Asker& who, std::uint64_t number, AskKind what, Payload body,
                detail::KeptObjects kept, Haste haste = Haste::now);
  /// Ends a request with the answer of the process `from`.
  void finish(std::uint64_t from, std::uint64_t request, ObjectAnswer answer);
  void relay(std::uint64_t from, ObjectMessage message);
  void fail_requests_to(std::uint64_t process);
  void note_gone_job(std::uint64_t process, const std::string& job);
  std::shared_ptr<wire::Link> link_to(std::uint64_t process);
  void arrived(ObjectMessage message);
  /// Handles the items that a job puts into a channel of the driver.
  void arrived_puts(std::uint64_t from, Reader& reader, const Payload& whole);
  void apply_recorded_puts(std::uint64_t process);
  void released(std::uint64_t from, const detail::HeldId& id);
  void introduce_locked(Op op, const std::optional<PeerCall>& call);

  std::atomic<caf::actor_system*> system_; ///< Null: no actor lives here yet.
  const std::uint64_t self_;
  const std::function<std::shared_ptr<const detail::Held>(std::uint64_t)> shared_;
  const std::function<std::uint64_t()> number_;
  std::shared_mutex gate_; ///< Shared while an actor is called; exclusive in close().
  std::mutex mutex_;
  std::atomic<bool> closed_ = false; ///< Set under both mutexes.
  std::uint64_t next_request_ = 1, next_parcel_ = 1;
  std::unordered_map<std::uint64_t, Home> homes_;
  std::map<detail::HeldId, std::weak_ptr<ObjectHandle>> others_;
  std::map<std::uint64_t, Pending> pending_;
  std::map<std::uint64_t, Parcel> parcels_;
  std::map<std::uint64_t, std::shared_ptr<wire::Link>> links_;
  std::map<std::uint64_t, std::map<detail::HeldId, NeighbourHold>>
    held_for_; ///< By neighbour.
  std::map<std::uint64_t, std::shared_ptr<JobLedger>> ledgers_;
  std::map<std::uint64_t, std::string> gone_jobs_; ///< Names, until disconnect() is done.
  std::mutex put_order_; ///< Items are sent in the order in which they are recorded.
  std::map<std::uint64_t, std::set<std::uint64_t>>
    contacts_; ///< By neighbour: the processes that it has exchanged messages with.
  PassedOn passed_on_;
  PeerIntroductions introductions_;
  Peers peers_; ///< Has its own lock, which is taken after mutex_.
  /// Objects that the driver has released while direct links of a dead job are read to
  /// their end; released after that.
  std::vector<detail::HeldId> late_releases_;
};

} // namespace fiber::actors
