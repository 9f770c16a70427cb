// SPDX-License-Identifier: Apache-2.0
#include "actors/objects/object_space.hpp"

#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <system_error>

#include <caf/all.hpp>

#include "actors/core/borrowed_thread.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "base/forked_child.hpp"
#include "base/log.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {
namespace {

/// Objects that a neighbour may hold. Each that it invents costs us some 300 bytes.
constexpr std::size_t max_held = 100'000;

template <class Held>
typename Held::mapped_type& place_in(Held& all, const detail::HeldId& id) {
  if (all.size() >= max_held && !all.contains(id))
    throw Error("it holds more than " + std::to_string(max_held) + " objects");
  return all[id];
}

/// Returns the address at the other end of a link; empty if that is not by TCP.
std::string host_of(const std::shared_ptr<wire::Link>& link) {
  return link ? wire::peer_host(*link) : "";
}

} // namespace

ObjectHandle::~ObjectHandle() {
  if (is_forked_child()) // The object is the parent's.
    return;
  if (auto space = space_.lock())
    space->dropped(id_);
}

/// Passes requests on to an actor, which runs on the calling thread. Does nothing once
/// the space is closed, as the actor system may be gone then.
class ObjectSpace::ActorHome final : public ObjectHome {
public:
  ActorHome(ObjectSpace& space, caf::actor actor)
    : space_(space), actor_(std::move(actor)) {}

  void asked(ObjectAsk ask) override {
    auto gate = enter();
    if (space_.closed_)
      space_.answer(ask.who, {});
    else
      send_on_this_thread(actor_.home_system(), actor_, std::move(ask));
  }
  void freed(std::uint64_t number) override {
    auto gate = enter();
    if (!space_.closed_) // Does not borrow the thread: any code may drop a handle.
      caf::anon_send(actor_, ObjectFreed{number});
  }
  void gone(std::uint64_t process) override {
    auto gate = enter();
    if (!space_.closed_)
      send_on_this_thread(
        actor_.home_system(), actor_,
        ProcessGone{process, space_.ledger(process), space_.gone_job(process)});
  }
  void close() override { caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown); }

private:
  std::shared_lock<std::shared_mutex> enter() {
    // A thread that already runs actors belongs to a caller that outlives the system.
    std::shared_lock gate(space_.gate_, std::defer_lock);
    if (BorrowedThread::current(actor_.home_system()) == nullptr)
      gate.lock();
    return gate;
  }

  ObjectSpace& space_;
  const caf::actor actor_;
};

// -- handles and holders --

std::shared_ptr<ObjectHandle> ObjectSpace::add(const caf::actor& actor) {
  system_ = &actor.home_system(); // Always the same.
  return add(std::make_shared<ActorHome>(*this, actor));
}

std::shared_ptr<ObjectHandle> ObjectSpace::add(std::shared_ptr<ObjectHome> home) {
  std::lock_guard lock(mutex_);
  if (closed_)
    throw Closed("the session has ended");
  detail::HeldId id{self_, fresh_number_locked()};
  auto handle = std::make_shared<ObjectHandle>(weak_from_this(), id);
  homes_[id.number] = {std::move(home), handle, {}};
  return handle;
}

std::uint64_t ObjectSpace::fresh_number_locked() {
  auto number = number_();
  while (number == 0 || homes_.contains(number)) // 0 says that a message is an answer.
    number = number_();
  return number;
}

std::shared_ptr<const detail::Held> ObjectSpace::hold(const detail::HeldId& id) {
  if (id.home == detail::HeldId::shared_values)
    return shared_(id.number);
  return handle(id);
}

std::shared_ptr<ObjectHandle> ObjectSpace::handle(const detail::HeldId& id) {
  std::lock_guard lock(mutex_);
  return handle_locked(id);
}

std::shared_ptr<ObjectHandle> ObjectSpace::handle_locked(const detail::HeldId& id) {
  auto make = [&] { return std::make_shared<ObjectHandle>(weak_from_this(), id); };
  if (closed_)
    return nullptr;
  if (id.home == self_) {
    auto home = homes_.find(id.number);
    if (home == homes_.end())
      return nullptr;
    auto handle = home->second.handle.lock();
    if (!handle)
      home->second.handle = handle = make();
    return handle;
  }
  auto& known = others_[id];
  auto handle = known.lock();
  if (!handle) {
    known = handle = make();
    // Sent under the lock: whoever finds the handle may rely on the object being held.
    tell_holding_locked(Op::object_retain, id);
  }
  return handle;
}

void ObjectSpace::dropped(const detail::HeldId& id) {
  std::unique_lock lock(mutex_);
  if (closed_)
    return;
  if (id.home == self_) {
    auto known = homes_.find(id.number);
    if (known == homes_.end() || !known->second.handle.expired())
      return;
    auto home = std::move(known->second.home);
    homes_.erase(known);
    lock.unlock();
    home->freed(id.number);
    return;
  }
  auto known = others_.find(id);
  if (known != others_.end() && known->second.expired())
    others_.erase(known);
  // The object must not end before the last message to it has arrived.
  if (!peers_.release_later(id))
    tell_holding_locked(Op::object_release, id);
}

void ObjectSpace::tell_holding_locked(Op op, const detail::HeldId& id) {
  auto link = links_.find(self_ == driver ? id.home : driver);
  if (link != links_.end())
    send_op(*link->second, op, id);
}

detail::KeptObjects ObjectSpace::take_over(std::uint64_t from,
                                           const std::vector<detail::HeldId>& held,
                                           std::uint64_t parcel) {
  detail::KeptObjects kept;
  for (auto& id : held)
    if (auto object = hold(id))
      kept.push_back(std::move(object));
  if (parcel != 0)
    if (auto link = link_to(from))
      send_op(*link, Op::received, parcel);
  return kept;
}

std::uint64_t ObjectSpace::keep_until_received(detail::KeptObjects kept) {
  std::erase_if(kept, [](auto& object) {
    return object->held_id().home == detail::HeldId::shared_values;
  });
  return keep_until_received_by(driver, std::move(kept));
}

std::uint64_t ObjectSpace::keep_until_received_by(std::uint64_t neighbour,
                                                  detail::KeptObjects kept) {
  std::lock_guard lock(mutex_);
  if (kept.empty() || !links_.contains(neighbour))
    return 0;
  auto parcel = next_parcel_++;
  parcels_[parcel] = {neighbour, std::move(kept)};
  return parcel;
}

void ObjectSpace::received(std::uint64_t from, std::uint64_t parcel) {
  Parcel last; // Destroyed after the unlock: the handles' destructors lock again.
  std::lock_guard lock(mutex_);
  if (auto known = parcels_.find(parcel);
      known != parcels_.end() && known->second.to == from) {
    last = std::move(known->second);
    parcels_.erase(known);
  }
}

thread_local const ObjectSpace* ObjectSpace::borrowing_ = nullptr;

bool ObjectSpace::on_borrowed_thread() const {
  auto* system = system_.load();
  return borrowing_ == this ||
         (system != nullptr && BorrowedThread::current(*system) != nullptr);
}

// -- neighbours --

void ObjectSpace::connect(std::uint64_t process, std::shared_ptr<wire::Link> link) {
  std::lock_guard lock(mutex_);
  if (closed_)
    return;
  if (self_ != driver)
    peers_.connect(link);
  links_[process] = std::move(link);
}

void ObjectSpace::bounce(const ObjectMessage& message) {
  if (message.object == 0)
    return;
  if (message.from == self_)
    fail_requests_to(message.to);
  else if (auto link = link_to(message.from))
    send_op(*link, Op::process_gone, GoneProcess{message.to});
}

void ObjectSpace::heard(std::uint64_t from, Op op, Reader& reader, const Payload& whole) {
  switch (op) {
  case Op::puts:
    return arrived_puts(from, reader, whole);
  case Op::object: {
    auto message = read_object_message(reader, whole);
    if ((self_ == driver && message.from != from) || message.to == message.from)
      throw Error("a message of process " + std::to_string(message.from) +
                  " comes from process " + std::to_string(from));
    if (!link_to(from))
      return; // It was declared dead.
    if (self_ == driver && message.to != driver)
      return relay(from, std::move(message));
    if (message.to != self_)
      throw Error("a message for process " + std::to_string(message.to));
    if (self_ == driver || message.from == driver)
      return arrived(std::move(message));
    for (auto& next : peers_.arrived(std::move(message)))
      arrived(std::move(next));
    return;
  }
  case Op::object_retain: {
    auto id = reader.get<detail::HeldId>();
    std::shared_ptr<const detail::Held> handle = link_to(from) ? hold(id) : nullptr;
    std::lock_guard lock(mutex_);
    if (!handle || !links_.contains(from))
      return;
    auto& held = place_in(held_for_[from], id);
    ++held.count;
    held.handle = std::move(handle);
    return;
  }
  case Op::object_release: {
    auto id = reader.get<detail::HeldId>();
    if (!peers_.dying())
      return released(from, id);
    std::lock_guard lock(mutex_);
    late_releases_.push_back(id);
    return;
  }
  case Op::process_gone: {
    auto gone = read_gone_process(reader);
    note_gone_job(gone.process, gone.job);
    if (peers_.gone(gone.process))
      disconnect(gone.process);
    return;
  }
  case Op::peer_listens: {
    auto call = read_peer_call(reader);
    const auto host = host_of(link_to(from));
    std::lock_guard lock(mutex_);
    return introduce_locked(Op::peer_dial, introductions_.listens(from, call, host));
  }
  case Op::received:
    return received(from, reader.get<std::uint64_t>());
  default:
    throw Error("operation " + std::to_string(static_cast<int>(op)) +
                " is not of objects");
  }
}

void ObjectSpace::released(std::uint64_t from, const detail::HeldId& id) {
  std::shared_ptr<const detail::Held> last; // Destroyed after the unlock.
  std::lock_guard lock(mutex_);
  auto known = held_for_.find(from);
  if (known == held_for_.end())
    return;
  auto held = known->second.find(id);
  if (held == known->second.end() || --held->second.count > 0)
    return;
  last = std::move(held->second.handle);
  known->second.erase(held);
}

void ObjectSpace::relay(std::uint64_t from, ObjectMessage message) {
  auto kept = take_over(from, message.held, message.parcel);
  {
    std::lock_guard lock(mutex_);
    if (links_.contains(message.to)) {
      contacts_[message.to].insert(from);
      contacts_[from].insert(message.to);
      introduce_locked(Op::peer_listen, introductions_.passed_on(
                                          message, std::chrono::steady_clock::now()));
    }
    ++passed_on_.messages;
    passed_on_.bytes += message.body.size();
  }
  message.parcel = keep_until_received_by(message.to, std::move(kept));
  send(std::move(message));
}

void ObjectSpace::introduce_locked(Op op, const std::optional<PeerCall>& call) {
  if (!call)
    return;
  if (auto link = links_.find(call->to); link != links_.end())
    send_op(*link->second, op, *call);
}

void ObjectSpace::heard_peer(std::uint64_t process, std::uint64_t link,
                             const Payload& whole) {
  for (auto& message : peers_.heard(process, link, whole))
    try {
      arrived(std::move(message));
    } catch (const Error& error) {
      log().warn("job {} sent a malformed message: {}", process, error.what());
    }
}

void ObjectSpace::closed_peer(std::uint64_t process, std::uint64_t link) {
  if (!peers_.closed(process, link))
    return;
  disconnect(process);
  if (peers_.dying())
    return;
  std::vector<detail::HeldId> late;
  {
    std::lock_guard lock(mutex_);
    late.swap(late_releases_);
  }
  for (auto& id : late)
    released(driver, id);
}

ObjectSpace::PassedOn ObjectSpace::passed_on() {
  std::lock_guard lock(mutex_);
  return passed_on_;
}

void ObjectSpace::arrived(ObjectMessage message) {
  auto kept = take_over(message.from, message.held, message.parcel);
  if (message.object == 0) {
    finish(message.from, message.request,
           {static_cast<Answer>(message.what), std::move(message.body), std::move(kept)});
    return;
  }
  auto what = static_cast<AskKind>(message.what);
  if (what >= AskKind::recall) {
    std::shared_ptr<ObjectHandle> handle; // Destroyed after the unlock.
    std::unique_lock lock(mutex_);
    if (auto known = others_.find({message.from, message.object}); known != others_.end())
      handle = known->second.lock();
    lock.unlock();
    if (handle)
      handle->told(what, message.request, message.body);
    return;
  }
  ask_here({message.from, message.request}, message.object, what, std::move(message.body),
           std::move(kept));
}

std::string ObjectSpace::gone_job(std::uint64_t process) {
  std::lock_guard lock(mutex_);
  auto known = gone_jobs_.find(process);
  return known == gone_jobs_.end() ? std::string() : known->second;
}

void ObjectSpace::note_gone_job(std::uint64_t process, const std::string& job) {
  if (job.empty())
    return;
  std::lock_guard lock(mutex_);
  gone_jobs_[process] = job;
}

void ObjectSpace::disconnect(std::uint64_t process, const std::string& job) {
  note_gone_job(process, job);
  apply_recorded_puts(process);
  // All destroyed after the unlock: the handles' destructors lock again.
  std::map<detail::HeldId, NeighbourHold> held;
  std::set<std::shared_ptr<ObjectHome>> homes;
  std::vector<std::shared_ptr<wire::Link>> others;
  std::shared_ptr<wire::Link> last;
  std::vector<Parcel> parcels;
  {
    std::lock_guard lock(mutex_);
    for (auto at = parcels_.begin(); at != parcels_.end();) {
      auto ends = at->second.to == process;
      if (ends)
        parcels.push_back(std::move(at->second));
      at = ends ? parcels_.erase(at) : std::next(at);
    }
    if (auto known = links_.find(process); known != links_.end()) {
      last = std::move(known->second);
      links_.erase(known);
    }
    if (auto known = held_for_.find(process); known != held_for_.end()) {
      held = std::move(known->second);
      held_for_.erase(known);
    }
    for (auto& [number, home] : homes_)
      if (home.requesters.erase(process) > 0)
        homes.insert(home.home);
    if (auto known = contacts_.find(process); known != contacts_.end()) {
      for (auto other : known->second) {
        contacts_[other].erase(process);
        if (auto link = links_.find(other); link != links_.end())
          others.push_back(link->second);
      }
      contacts_.erase(process);
    }
    introductions_.gone(process);
  }
  for (auto& link : others)
    send_op(*link, Op::process_gone, GoneProcess{process, job});
  for (auto& home : homes)
    home->gone(process);
  {
    std::lock_guard lock(mutex_);
    ledgers_.erase(process);
    gone_jobs_.erase(process);
  }
  fail_requests_to(process);
}

void ObjectSpace::close() {
  std::unordered_map<std::uint64_t, Home> homes;
  std::map<std::uint64_t, Pending> pending;
  std::map<std::uint64_t, std::map<detail::HeldId, NeighbourHold>> held;
  std::map<std::uint64_t, Parcel> parcels;
  {
    std::unique_lock gate(gate_);
    std::lock_guard lock(mutex_);
    closed_ = true;
    homes.swap(homes_);
    pending.swap(pending_);
    held.swap(held_for_);
    parcels.swap(parcels_);
  }
  for (auto& [request, asked] : pending)
    asked.done(request, {});
  for (auto& [number, home] : homes)
    home.home->close();
}

void ObjectSpace::drop_links() {
  std::map<std::uint64_t, std::shared_ptr<wire::Link>> links;
  std::lock_guard lock(mutex_);
  links.swap(links_);
}

} // namespace fiber::actors
