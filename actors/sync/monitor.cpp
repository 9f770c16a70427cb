// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "actors/sync/sync_object.hpp"

namespace fiber::actors {
namespace {

/// A recursive lock with a condition: one thread owns it, others wait to enter, and
/// waiters of the condition sleep until they are notified. Invariant: no thread waits to
/// enter while the lock is free.
class Monitor final : public SyncObject {
public:
  explicit Monitor(SyncKind kind) : kind_(kind) {}

  Replies asked(const Asker& who, const SyncRequest& request) override {
    switch (request.op) {
    case SyncOp::acquire: {
      Replies replies;
      entering_.push_back({who, request.thread});
      serve_waiting(replies);
      return replies;
    }
    case SyncOp::try_acquire: {
      if (owner_ && !owns(who, request.thread))
        return {value(who, 0)};
      take({who, request.thread});
      return {value(who, 1)};
    }
    case SyncOp::release:
      break;
    case SyncOp::wait:
    case SyncOp::notify:
      if (kind_ == SyncKind::condition)
        break;
      [[fallthrough]];
    default:
      return refuse_op(who, kind_, request.op);
    }
    if (!owns(who, request.thread))
      return refuse(who, refusal_text(request));
    return asked_by_owner(who, request);
  }

  /// A waiter of the condition that is notified or cancelled must reacquire the lock, and
  /// is answered only then.
  Replies cancel(const Asker& who) override {
    Replies replies;
    auto is_it = [&](auto& each) { return each.who == who; };
    auto waits = std::find_if(asleep_.begin(), asleep_.end(), is_it);
    auto enters = std::find_if(entering_.begin(), entering_.end(), is_it);
    if (waits != asleep_.end()) {
      entering_.push_back(*waits);
      asleep_.erase(waits);
      serve_waiting(replies);
    } else if (enters != entering_.end() && enters->from == From::outside) {
      entering_.erase(enters);
      replies.push_back({who, Answer::cancelled});
    }
    return replies;
  }

  Replies gone(std::uint64_t process) override {
    auto is_its = [&](auto& each) { return each.who.process == process; };
    // Notified threads of the dead process may not have acted on it: notify others.
    std::uint64_t unused_notifications = 0;
    for (auto& each : entering_)
      unused_notifications += is_its(each) && each.from == From::notified ? 1 : 0;
    std::erase_if(entering_, is_its);
    std::erase_if(asleep_, is_its);
    if (owner_ && is_its(*owner_)) {
      unused_notifications += owner_->from == From::notified ? 1 : 0;
      owner_.reset();
    }
    notify(unused_notifications);
    Replies replies;
    serve_waiting(replies);
    return replies;
  }

  std::vector<Asker> waiting() const override {
    std::vector<Asker> all;
    for (auto* those : {&entering_, &asleep_})
      for (auto& each : *those)
        all.push_back(each.who);
    return all;
  }

private:
  enum class From : std::uint8_t {
    outside,    ///< Locks it.
    time_limit, ///< Waits for the condition, or has given that up.
    notified    ///< Has waited for the condition and was notified.
  };
  /// A thread that owns the lock, waits to enter, or sleeps in the condition.
  struct Entrant {
    Asker who;
    SyncThread thread;
    std::uint64_t depth = 1;
    From from = From::outside;
  };

  bool owns(const Asker& who, const SyncThread& thread) const {
    return owner_ && owner_->who.process == who.process && owner_->thread == thread;
  }

  Replies asked_by_owner(const Asker& who, const SyncRequest& request) {
    Replies replies;
    switch (request.op) {
    case SyncOp::notify:
      notify(request.n);
      replies.push_back({who});
      break;
    case SyncOp::wait:
      asleep_.push_back({who, request.thread, owner_->depth, From::time_limit});
      owner_.reset();
      break;
    default:
      replies.push_back({who});
      if (--owner_->depth == 0)
        owner_.reset();
    }
    serve_waiting(replies);
    return replies;
  }

  std::string refusal_text(const SyncRequest& request) const {
    auto verb = request.op == SyncOp::wait     ? "wait()"
                : request.op == SyncOp::notify ? "notify()"
                                               : "unlock()";
    auto of = std::string(verb) + " of " + name_of(kind_);
    if (!owner_)
      return of + " that nobody holds";
    auto name = [](const SyncThread& thread) {
      return "thread " + std::to_string(thread.tid) + " of process " +
             std::to_string(thread.pid);
    };
    return of + " that is held by " + name(owner_->thread) +
           (owner_->who.process == 0 ? ", the driver" : "") + ", not by " +
           name(request.thread);
  }

  void notify(std::uint64_t n) {
    for (; n > 0 && !asleep_.empty(); --n, asleep_.pop_front()) {
      asleep_.front().from = From::notified;
      entering_.push_back(asleep_.front());
    }
  }

  void take(Entrant entrant) {
    if (owner_)
      owner_->depth += entrant.depth;
    else
      owner_ = entrant;
  }

  void grant(const Entrant& entrant, Replies& replies) {
    take(entrant);
    if (entrant.from == From::outside)
      replies.push_back({entrant.who});
    else
      replies.push_back(value(entrant.who, entrant.from == From::notified ? 1 : 0));
  }

  void serve_waiting(Replies& replies) {
    if (!owner_ && !entering_.empty()) {
      auto first = entering_.front();
      entering_.pop_front();
      grant(first, replies);
    }
    // Requests of the owning thread are granted at once: it locks again, or, on an inline
    // session, it runs a task while it waits.
    std::erase_if(entering_, [&](auto& each) {
      if (!owns(each.who, each.thread))
        return false;
      grant(each, replies);
      return true;
    });
  }

  const SyncKind kind_;
  std::optional<Entrant> owner_;
  std::deque<Entrant> entering_, asleep_;
};

} // namespace

std::unique_ptr<SyncObject> new_monitor(SyncKind kind) {
  return std::make_unique<Monitor>(kind);
}

} // namespace fiber::actors
