// SPDX-License-Identifier: Apache-2.0
// The promise: whatever processes do, and whenever they cancel or die, every request is
// answered once, nothing is granted beyond its limit, and no request waits for what is
// free.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "actors/sync/sync_object.hpp"

namespace fiber::actors {
namespace {

/// Threads of processes that send random requests and die at random. Each thread waits
/// for its answer.
class History {
public:
  explicit History(SyncKind kind, unsigned seed)
    : random_(seed), n_(1 + draw(4)), object_(new_sync_object(kind, n_)) {
    for (std::uint64_t process = 1; process <= 4; ++process)
      start(process);
  }
  virtual ~History() = default;

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      act();
      check_waiting();
      check();
    }
  }

protected:
  struct Thread {
    std::uint64_t process = 0, number = 0;
    auto operator<=>(const Thread&) const = default;
  };

  /// Returns the next request of the thread.
  virtual SyncRequest next(const Thread& thread) = 0;
  virtual void sent(const Thread&, const SyncRequest&) {}
  virtual void cancelled(const Thread&) {}
  virtual void answered(const Thread& thread, const SyncRequest& request,
                        const SyncReply& reply) = 0;
  virtual void died(std::uint64_t process) = 0;
  virtual void check() = 0;

  unsigned draw(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::uint64_t n() const { return n_; }
  /// Returns the threads that wait for an answer to this operation.
  std::set<Thread> that_ask(SyncOp op) const {
    std::set<Thread> all;
    for (auto& [who, asked] : pending_)
      if (asked.request.op == op)
        all.insert(asked.thread);
    return all;
  }

private:
  struct Asked {
    Thread thread;
    SyncRequest request;
  };

  void start(std::uint64_t process) {
    threads_.push_back({process, 1});
    threads_.push_back({process, 2});
  }

  void act() {
    auto thread = threads_.at(draw(static_cast<unsigned>(threads_.size())));
    if (draw(60) == 0)
      return die(thread.process);
    auto pending = std::find_if(pending_.begin(), pending_.end(),
                                [&](auto& each) { return each.second.thread == thread; });
    if (pending == pending_.end()) {
      auto request = next(thread);
      request.thread.number = thread.number;
      Asker who{thread.process, ++requests_};
      pending_[who] = {thread, request};
      sent(thread, request);
      hear(object_->asked(who, request));
    } else if (draw(3) == 0) {
      auto who = pending->first;
      cancelled(thread);
      hear(object_->cancel(who));
    }
  }

  void die(std::uint64_t process) {
    std::erase_if(threads_, [&](auto& thread) { return thread.process == process; });
    std::erase_if(pending_, [&](auto& each) { return each.first.process == process; });
    died(process);
    hear(object_->gone(process));
    start(++last_process_);
  }

  void hear(const SyncObject::Replies& replies) {
    for (auto& reply : replies) {
      auto known = pending_.find(reply.to);
      ASSERT_NE(known, pending_.end()) << "it is answered twice, or is dead";
      auto asked = known->second;
      pending_.erase(known);
      if (reply.what != Answer::cancelled)
        answered(asked.thread, asked.request, reply);
    }
  }

  void check_waiting() {
    std::set<Asker> known, waiting;
    for (auto& [who, asked] : pending_)
      known.insert(who);
    for (auto& who : object_->waiting())
      EXPECT_TRUE(waiting.insert(who).second) << "it waits twice";
    EXPECT_EQ(waiting, known);
  }

  std::mt19937 random_;
  const std::uint64_t n_;
  std::unique_ptr<SyncObject> object_;
  std::uint64_t requests_ = 0, last_process_ = 4;
  std::vector<Thread> threads_;
  std::map<Asker, Asked> pending_;
};

/// For Lock, Semaphore and BoundedSemaphore. Only a process with a permit releases one.
class PermitsHistory final : public History {
public:
  PermitsHistory(SyncKind kind, unsigned seed)
    : History(kind, seed), permits_(kind == SyncKind::lock ? 1 : n()) {}

protected:
  SyncRequest next(const Thread& thread) override {
    if (held_[thread.process] > 0 && draw(2) == 0)
      return {
        SyncOp::release, {}, 1 + draw(static_cast<unsigned>(held_[thread.process]))};
    return {draw(4) == 0 ? SyncOp::try_acquire : SyncOp::acquire, {}, 0};
  }
  void sent(const Thread& thread, const SyncRequest& request) override {
    could_ = held() < permits_;
    if (request.op == SyncOp::release)
      held_[thread.process] -= permits_ == 1 ? 1 : request.n;
  }
  void answered(const Thread& thread, const SyncRequest& request,
                const SyncReply& reply) override {
    EXPECT_NE(reply.what, Answer::refused);
    if (request.op == SyncOp::try_acquire) {
      EXPECT_EQ(reply.value, could_ ? 1U : 0U);
    }
    if (request.op == SyncOp::acquire || reply.value == 1) {
      ++held_[thread.process];
    }
  }
  void died(std::uint64_t process) override { held_.erase(process); }
  void check() override {
    EXPECT_LE(held(), permits_);
    if (held() < permits_) {
      EXPECT_TRUE(that_ask(SyncOp::acquire).empty()) << "it waits while a permit is free";
    }
  }

private:
  std::uint64_t held() const {
    std::uint64_t all = 0;
    for (auto& [process, permits] : held_)
      all += permits;
    return all;
  }

  const std::uint64_t permits_;
  bool could_ = false; ///< Whether a permit was free when the last request was sent.
  std::map<std::uint64_t, std::uint64_t> held_;
};

/// For RLock and Condition.
class MonitorHistory final : public History {
public:
  MonitorHistory(SyncKind kind, unsigned seed) : History(kind, seed), kind_(kind) {}

protected:
  SyncRequest next(const Thread& thread) override {
    if (owner_ != thread)
      return {draw(4) == 0 ? SyncOp::try_acquire : SyncOp::acquire, {}, 0};
    switch (draw(kind_ == SyncKind::rlock ? 3 : 6)) {
    case 0:
      return {SyncOp::acquire, {}, 0};
    case 1:
    case 2:
      return {SyncOp::release, {}, 1};
    case 3:
      return {SyncOp::notify, {}, 1 + draw(3)};
    default:
      return {SyncOp::wait, {}, 0};
    }
  }
  void sent(const Thread& thread, const SyncRequest& request) override {
    switch (request.op) {
    case SyncOp::acquire:
      if (owner_ != thread)
        entering_.push_back({thread, false});
      return;
    case SyncOp::release:
      if (--depth_ == 0)
        owner_ = {};
      return;
    case SyncOp::notify:
      return notify(request.n);
    case SyncOp::wait:
      depths_[thread] = depth_;
      asleep_.push_back(thread);
      owner_ = {};
      return;
    default:
      could_ = owner_ == Thread{} || owner_ == thread;
    }
  }
  /// Has no effect if the thread already waits to reacquire the lock.
  void cancelled(const Thread& thread) override {
    if (std::erase(asleep_, thread) > 0)
      entering_.push_back({thread, false});
    else if (!depths_.contains(thread))
      std::erase_if(entering_, [&](auto& each) { return each.thread == thread; });
  }
  void answered(const Thread& thread, const SyncRequest& request,
                const SyncReply& reply) override {
    EXPECT_NE(reply.what, Answer::refused) << reply.why;
    auto mine = owner_ == thread;
    if (request.op == SyncOp::try_acquire) {
      EXPECT_EQ(reply.value, could_ ? 1U : 0U);
      if (reply.value == 0)
        return;
    } else if (request.op == SyncOp::release || request.op == SyncOp::notify) {
      return;
    } else if (!mine) {
      ASSERT_FALSE(entering_.empty());
      EXPECT_EQ(entering_.front().thread, thread) << "it was not its turn";
      heard_ = entering_.front().notified;
      entering_.pop_front();
    }
    EXPECT_TRUE(mine || owner_ == Thread{}) << "two have it";
    if (request.op == SyncOp::wait) {
      EXPECT_EQ(reply.value, heard_ ? 1U : 0U);
      depth_ = depths_[thread];
      depths_.erase(thread);
    } else {
      depth_ = mine ? depth_ + 1 : 1;
      heard_ = mine && heard_;
    }
    owner_ = thread;
  }
  void died(std::uint64_t process) override {
    auto is_its = [&](auto& thread) { return thread.process == process; };
    std::uint64_t unheard = 0;
    std::erase_if(entering_, [&](auto& each) {
      unheard += is_its(each.thread) && each.notified ? 1 : 0;
      return is_its(each.thread);
    });
    std::erase_if(asleep_, is_its);
    std::erase_if(depths_, [&](auto& each) { return is_its(each.first); });
    if (is_its(owner_)) {
      unheard += heard_ ? 1 : 0;
      owner_ = {};
    }
    notify(unheard);
  }
  void check() override {
    if (owner_ == Thread{}) {
      EXPECT_TRUE(entering_.empty()) << "it waits while the lock is free";
    }
    EXPECT_EQ(that_ask(SyncOp::wait).size() + that_ask(SyncOp::acquire).size(),
              entering_.size() + asleep_.size());
  }

private:
  struct Entering {
    Thread thread;
    bool notified = false;
  };

  void notify(std::uint64_t n) {
    for (; n > 0 && !asleep_.empty(); --n, asleep_.pop_front())
      entering_.push_back({asleep_.front(), true});
  }

  const SyncKind kind_;
  Thread owner_; ///< Process 0: nobody.
  std::uint64_t depth_ = 0;
  bool heard_ = false; ///< The owner, that it was notified, and is still there.
  bool could_ = false; ///< When the last request was sent.
  std::map<Thread, std::uint64_t> depths_;
  std::deque<Entering> entering_;
  std::deque<Thread> asleep_;
};

class EventHistory final : public History {
public:
  explicit EventHistory(unsigned seed) : History(SyncKind::event, seed) {}

protected:
  SyncRequest next(const Thread&) override {
    switch (draw(5)) {
    case 0:
      return {SyncOp::set, {}, 0};
    case 1:
      return {SyncOp::clear, {}, 0};
    case 2:
      return {SyncOp::is_set, {}, 0};
    default:
      return {SyncOp::wait, {}, 0};
    }
  }
  void sent(const Thread&, const SyncRequest& request) override {
    if (request.op == SyncOp::set || request.op == SyncOp::clear)
      set_ = request.op == SyncOp::set;
  }
  void answered(const Thread&, const SyncRequest& request,
                const SyncReply& reply) override {
    if (request.op == SyncOp::wait) {
      EXPECT_TRUE(set_);
    } else if (request.op == SyncOp::is_set) {
      EXPECT_EQ(reply.value, set_ ? 1U : 0U);
    }
  }
  void died(std::uint64_t) override {}
  void check() override {
    if (set_) {
      EXPECT_TRUE(that_ask(SyncOp::wait).empty()) << "it waits for what is set";
    }
  }

private:
  bool set_ = false;
};

class BarrierHistory final : public History {
public:
  explicit BarrierHistory(unsigned seed) : History(SyncKind::barrier, seed) {}

protected:
  SyncRequest next(const Thread&) override {
    switch (draw(30)) {
    case 0:
      return {SyncOp::abort, {}, 0};
    case 1:
    case 2:
    case 3:
      return {SyncOp::reset, {}, 0};
    case 4:
      return {SyncOp::is_broken, {}, 0};
    default:
      return {SyncOp::wait, {}, 0};
    }
  }
  void sent(const Thread& thread, const SyncRequest& request) override {
    may_go_ = request.op == SyncOp::wait && !broken_ && waiting_.size() + 1 == n();
    if (request.op == SyncOp::wait && !broken_)
      waiting_.push_back(thread);
    else if (request.op == SyncOp::abort || request.op == SyncOp::reset)
      break_up(request.op == SyncOp::abort);
  }
  void cancelled(const Thread&) override { break_up(true); }
  void answered(const Thread& thread, const SyncRequest& request,
                const SyncReply& reply) override {
    if (request.op == SyncOp::is_broken) {
      EXPECT_EQ(reply.value, broken_ ? 1U : 0U);
    } else if (request.op == SyncOp::wait && reply.what == Answer::value) {
      EXPECT_TRUE(may_go_);
      ASSERT_FALSE(waiting_.empty());
      EXPECT_EQ(waiting_.front(), thread);
      EXPECT_EQ(reply.value, n() - waiting_.size());
      waiting_.pop_front();
    } else if (request.op == SyncOp::wait) {
      EXPECT_EQ(reply.what, Answer::refused);
      EXPECT_TRUE(waiting_.empty());
    }
  }
  void died(std::uint64_t process) override {
    for (auto& thread : std::deque(waiting_))
      if (thread.process == process)
        break_up(true);
  }
  void check() override {
    EXPECT_EQ(that_ask(SyncOp::wait).size(), waiting_.size());
    EXPECT_LT(waiting_.size(), n());
  }

private:
  void break_up(bool for_good) {
    broken_ = for_good;
    waiting_.clear();
  }

  bool broken_ = false, may_go_ = false;
  std::deque<Thread> waiting_;
};

template <class Play>
void play(Play make) {
  for (unsigned seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    make(seed).run(2000);
  }
}

TEST(SyncHistories, locks_keep_their_promise_in_random_histories) {
  play([](unsigned seed) { return PermitsHistory(SyncKind::lock, seed); });
}
TEST(SyncHistories, semaphores_keep_their_promise_in_random_histories) {
  play([](unsigned seed) { return PermitsHistory(SyncKind::semaphore, seed); });
}
TEST(SyncHistories, bounded_semaphores_keep_their_promise_in_random_histories) {
  play([](unsigned seed) { return PermitsHistory(SyncKind::bounded_semaphore, seed); });
}
TEST(SyncHistories, rlocks_keep_their_promise_in_random_histories) {
  play([](unsigned seed) { return MonitorHistory(SyncKind::rlock, seed); });
}
TEST(SyncHistories, conditions_keep_their_promise_in_random_histories) {
  play([](unsigned seed) { return MonitorHistory(SyncKind::condition, seed); });
}
TEST(SyncHistories, events_keep_their_promise_in_random_histories) {
  play([](unsigned seed) { return EventHistory(seed); });
}
TEST(SyncHistories, barriers_keep_their_promise_in_random_histories) {
  play([](unsigned seed) { return BarrierHistory(seed); });
}

} // namespace
} // namespace fiber::actors
