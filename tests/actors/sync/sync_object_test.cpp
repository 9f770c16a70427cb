// SPDX-License-Identifier: Apache-2.0
// The promise: locks, semaphores, events, conditions and barriers do what Python's do;
// who waits is served in turn; and what a process held that dies goes to the next one.
#include "actors/sync/sync_object.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace fiber::actors {
namespace {

/// As "to.request:answer", those of values with the value.
std::string told(const SyncObject::Replies& replies) {
  constexpr std::array names{"done",      "value",      "closed",
                             "cancelled", "other_type", "refused"};
  std::string all;
  for (auto& reply : replies) {
    all += (all.empty() ? "" : " ") + std::to_string(reply.to.process) + "." +
           std::to_string(reply.to.request) + ":";
    all += reply.what == Answer::value ? std::to_string(reply.value)
           : reply.what == Answer::refused
             ? reply.why
             : names.at(static_cast<std::size_t>(reply.what));
  }
  return all;
}

/// An object, asked by threads of processes. The pid of process 1 is 1001; its thread 2
/// has the tid 12.
class Object {
public:
  explicit Object(SyncKind kind, std::uint64_t n = 0)
    : object_(new_sync_object(kind, n)) {}

  std::string ask(SyncOp op, Asker who, std::uint64_t n = 1, std::uint64_t thread = 1) {
    auto tid = static_cast<std::uint32_t>(10 * who.process + thread);
    auto pid = static_cast<std::uint32_t>(1000 + who.process);
    return told(object_->asked(who, {op, {thread, pid, tid}, n}));
  }
  std::string acquire(Asker who, std::uint64_t thread = 1) {
    return ask(SyncOp::acquire, who, 1, thread);
  }
  std::string release(Asker who, std::uint64_t n = 1) {
    return ask(SyncOp::release, who, n);
  }
  std::string wait(Asker who) { return ask(SyncOp::wait, who); }
  std::string cancel(Asker who) { return told(object_->cancel(who)); }
  std::string gone(std::uint64_t process) { return told(object_->gone(process)); }
  std::size_t waiting() const { return object_->waiting().size(); }

private:
  std::unique_ptr<SyncObject> object_;
};

constexpr auto try_acquire = SyncOp::try_acquire;
constexpr auto release = SyncOp::release;

// -- Lock --

TEST(SyncLock, is_one_holders_at_a_time_in_turn) {
  Object lock(SyncKind::lock);
  EXPECT_EQ(lock.acquire({1, 1}), "1.1:done");
  EXPECT_EQ(lock.acquire({2, 1}), "");
  EXPECT_EQ(lock.acquire({3, 1}), "");
  EXPECT_EQ(lock.release({1, 2}), "1.2:done 2.1:done");
  EXPECT_EQ(lock.release({2, 2}), "2.2:done 3.1:done");
  EXPECT_EQ(lock.release({3, 2}), "3.2:done");
}

TEST(SyncLock, is_not_recursive) {
  Object lock(SyncKind::lock);
  lock.acquire({1, 1});
  EXPECT_EQ(lock.acquire({1, 2}), "");
  EXPECT_EQ(lock.release({1, 3}), "1.3:done 1.2:done");
}

TEST(SyncLock, is_unlocked_by_anybody_and_only_once) {
  Object lock(SyncKind::lock);
  EXPECT_EQ(lock.release({2, 1}), "2.1:unlock() of a Lock that nobody holds");
  lock.acquire({1, 1});
  EXPECT_EQ(lock.release({2, 2}), "2.2:done");
  EXPECT_EQ(lock.release({1, 2}), "1.2:unlock() of a Lock that nobody holds");
  // The first holder has nothing left that its death could release.
  EXPECT_EQ(lock.acquire({2, 3}), "2.3:done");
  EXPECT_EQ(lock.gone(1), "");
  EXPECT_EQ(lock.ask(try_acquire, {3, 1}), "3.1:0");
}

TEST(SyncLock, tries_without_waiting) {
  Object lock(SyncKind::lock);
  EXPECT_EQ(lock.ask(try_acquire, {1, 1}), "1.1:1");
  EXPECT_EQ(lock.ask(try_acquire, {2, 1}), "2.1:0");
  EXPECT_EQ(lock.waiting(), 0U);
  EXPECT_EQ(lock.release({1, 2}), "1.2:done");
}

TEST(SyncLock, goes_on_when_its_holder_dies) {
  Object lock(SyncKind::lock);
  lock.acquire({1, 1});
  lock.acquire({1, 2});
  lock.acquire({2, 1});
  lock.acquire({3, 1});
  EXPECT_EQ(lock.gone(1), "2.1:done"); // Whose own second request vanished.
  EXPECT_EQ(lock.gone(2), "3.1:done"); // Whether or not it has heard of it.
}

TEST(SyncLock, forgets_who_gives_up) {
  Object lock(SyncKind::lock);
  lock.acquire({1, 1});
  lock.acquire({2, 1});
  lock.acquire({3, 1});
  EXPECT_EQ(lock.cancel({2, 1}), "2.1:cancelled");
  EXPECT_EQ(lock.cancel({2, 1}), "");
  EXPECT_EQ(lock.release({1, 2}), "1.2:done 3.1:done");
  EXPECT_EQ(lock.cancel({3, 1}), ""); // Too late: it has it.
  EXPECT_EQ(lock.ask(try_acquire, {1, 3}), "1.3:0");
}

TEST(SyncLock, refuses_what_it_has_not) {
  Object lock(SyncKind::lock);
  EXPECT_EQ(lock.wait({1, 1}), "1.1:a Lock has no operation 3");
}

// -- Semaphore, BoundedSemaphore --

TEST(SyncSemaphore, gives_its_permits_in_turn) {
  Object permits(SyncKind::semaphore, 2);
  EXPECT_EQ(permits.acquire({1, 1}), "1.1:done");
  EXPECT_EQ(permits.acquire({1, 2}), "1.2:done");
  EXPECT_EQ(permits.ask(try_acquire, {1, 3}), "1.3:0");
  for (std::uint64_t process = 2; process <= 4; ++process)
    EXPECT_EQ(permits.acquire({process, 1}), "");
  EXPECT_EQ(permits.release({1, 4}, 2), "1.4:done 2.1:done 3.1:done");
  EXPECT_EQ(permits.cancel({4, 1}), "4.1:cancelled");
}

TEST(SyncSemaphore, grows_by_releases) {
  Object permits(SyncKind::semaphore, 0);
  EXPECT_EQ(permits.acquire({1, 1}), "");
  EXPECT_EQ(permits.release({2, 1}, 3), "2.1:done 1.1:done");
  EXPECT_EQ(permits.acquire({1, 2}), "1.2:done");
  EXPECT_EQ(permits.acquire({1, 3}), "1.3:done");
  EXPECT_EQ(permits.acquire({1, 4}), "");
  EXPECT_NE(permits.release({2, 2}, 0), "2.2:done");
  EXPECT_EQ(permits.waiting(), 1U);
  Object many(SyncKind::semaphore, UINT64_MAX);
  EXPECT_NE(many.release({1, 1}), "1.1:done");
}

TEST(SyncSemaphore, has_back_what_a_dead_process_had_acquired) {
  Object permits(SyncKind::semaphore, 3);
  for (std::uint64_t request = 1; request <= 3; ++request)
    permits.acquire({1, request});
  permits.release({1, 4});
  permits.acquire({2, 1});
  permits.acquire({2, 2});
  EXPECT_EQ(permits.gone(1), "2.2:done");
  EXPECT_EQ(permits.ask(try_acquire, {3, 1}), "3.1:1");
  EXPECT_EQ(permits.ask(try_acquire, {3, 2}), "3.2:0");
}

TEST(SyncSemaphore, gives_nothing_back_twice_that_another_one_released) {
  Object permits(SyncKind::semaphore, 1);
  permits.acquire({1, 1});
  EXPECT_EQ(permits.release({2, 1}), "2.1:done");
  EXPECT_EQ(permits.gone(1), "");
  EXPECT_EQ(permits.ask(try_acquire, {3, 1}), "3.1:1");
  EXPECT_EQ(permits.ask(try_acquire, {3, 2}), "3.2:0");
}

TEST(SyncSemaphore, is_bounded_if_it_is_to_be) {
  Object permits(SyncKind::bounded_semaphore, 2);
  EXPECT_EQ(
    permits.release({1, 1}),
    "1.1:release() of 1 of a BoundedSemaphore that has 2, of which 0 are acquired");
  permits.acquire({1, 2});
  EXPECT_EQ(
    permits.release({1, 3}, 2),
    "1.3:release() of 2 of a BoundedSemaphore that has 2, of which 1 is acquired");
  EXPECT_EQ(permits.release({2, 1}), "2.1:done");
  permits.acquire({1, 4});
  permits.acquire({1, 5});
  permits.gone(1);
  EXPECT_NE(permits.release({2, 2}), "2.2:done");
  EXPECT_EQ(permits.acquire({2, 3}), "2.3:done");
  EXPECT_EQ(permits.acquire({2, 4}), "2.4:done");
  EXPECT_EQ(permits.acquire({2, 5}), "");
}

// -- RLock --

TEST(SyncRLock, is_recursive_for_its_thread_alone) {
  Object lock(SyncKind::rlock);
  EXPECT_EQ(lock.acquire({1, 1}), "1.1:done");
  EXPECT_EQ(lock.acquire({1, 2}), "1.2:done");
  EXPECT_EQ(lock.ask(try_acquire, {1, 3}), "1.3:1");
  EXPECT_EQ(lock.acquire({1, 4}, 2), "");
  EXPECT_EQ(lock.acquire({2, 1}), "");
  EXPECT_EQ(lock.ask(try_acquire, {2, 2}), "2.2:0");
  EXPECT_EQ(lock.release({1, 5}), "1.5:done");
  EXPECT_EQ(lock.release({1, 6}), "1.6:done");
  EXPECT_EQ(lock.release({1, 7}), "1.7:done 1.4:done");
  EXPECT_EQ(lock.ask(release, {1, 8}, 1, 2), "1.8:done 2.1:done");
}

TEST(SyncRLock, is_unlocked_by_its_owner_alone) {
  Object lock(SyncKind::rlock);
  EXPECT_EQ(lock.release({1, 1}), "1.1:unlock() of an RLock that nobody holds");
  lock.acquire({1, 2}, 2);
  EXPECT_EQ(lock.release({2, 1}),
            "2.1:unlock() of an RLock that is held by thread 12 of process 1001, not by "
            "thread 21 of process 1002");
  EXPECT_EQ(lock.ask(release, {1, 3}, 1, 1),
            "1.3:unlock() of an RLock that is held by thread 12 of process 1001, not by "
            "thread 11 of process 1001");
  EXPECT_EQ(lock.ask(release, {1, 4}, 1, 2), "1.4:done");
  lock.acquire({0, 1});
  EXPECT_EQ(lock.release({2, 2}),
            "2.2:unlock() of an RLock that is held by thread 1 of process 1000, the "
            "driver, not by thread 21 of process 1002");
}

TEST(SyncRLock, goes_on_when_its_holder_dies_however_often_it_had_locked_it) {
  Object lock(SyncKind::rlock);
  lock.acquire({1, 1});
  lock.acquire({1, 2});
  lock.acquire({1, 3}, 2);
  lock.acquire({2, 1});
  EXPECT_EQ(lock.gone(1), "2.1:done");
  EXPECT_EQ(lock.release({2, 2}), "2.2:done");
  EXPECT_EQ(lock.waiting(), 0U);
}

TEST(SyncRLock, has_no_place_to_wait_to_be_notified) {
  Object lock(SyncKind::rlock);
  lock.acquire({1, 1});
  EXPECT_EQ(lock.wait({1, 2}), "1.2:an RLock has no operation 3");
  EXPECT_EQ(lock.ask(SyncOp::notify, {1, 3}), "1.3:an RLock has no operation 7");
}

// -- Event --

TEST(SyncEvent, wakes_all_who_wait) {
  Object event(SyncKind::event);
  EXPECT_EQ(event.wait({1, 1}), "");
  EXPECT_EQ(event.wait({2, 1}), "");
  EXPECT_EQ(event.ask(SyncOp::is_set, {3, 1}), "3.1:0");
  EXPECT_EQ(event.ask(SyncOp::set, {3, 2}), "1.1:done 2.1:done 3.2:done");
  EXPECT_EQ(event.ask(SyncOp::is_set, {3, 3}), "3.3:1");
  EXPECT_EQ(event.wait({1, 2}), "1.2:done");
  EXPECT_EQ(event.ask(SyncOp::clear, {3, 4}), "3.4:done");
  EXPECT_EQ(event.wait({1, 3}), "");
}

TEST(SyncEvent, forgets_who_gives_up_or_dies) {
  Object event(SyncKind::event);
  event.wait({1, 1});
  event.wait({2, 1});
  event.wait({3, 1});
  EXPECT_EQ(event.cancel({1, 1}), "1.1:cancelled");
  EXPECT_EQ(event.gone(2), "");
  EXPECT_EQ(event.ask(SyncOp::set, {4, 1}), "3.1:done 4.1:done");
  EXPECT_EQ(event.cancel({3, 1}), "");
}

// -- Condition --

/// With two who wait in it: 1.2, which has locked it twice, and 2.2.
class SyncCondition : public testing::Test {
protected:
  SyncCondition() {
    condition.acquire({1, 1});
    condition.acquire({1, 1});
    EXPECT_EQ(condition.wait({1, 2}), "");
    EXPECT_EQ(condition.acquire({2, 1}), "2.1:done");
    EXPECT_EQ(condition.wait({2, 2}), "");
    EXPECT_EQ(condition.acquire({3, 1}), "3.1:done");
  }
  std::string notify(Asker who, std::uint64_t n) {
    return condition.ask(SyncOp::notify, who, n);
  }

  Object condition{SyncKind::condition};
};

TEST_F(SyncCondition, gives_the_lock_back_to_who_was_notified) {
  EXPECT_EQ(notify({3, 2}, 1), "3.2:done");
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:1");
  EXPECT_EQ(condition.acquire({3, 4}), "");
  EXPECT_EQ(condition.release({1, 3}), "1.3:done"); // Twice, as before.
  EXPECT_EQ(condition.release({1, 4}), "1.4:done 3.4:done");
  EXPECT_EQ(condition.waiting(), 1U);
}

TEST_F(SyncCondition, wakes_all_one_after_the_other) {
  EXPECT_EQ(notify({3, 2}, UINT64_MAX), "3.2:done");
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:1");
  condition.release({1, 3});
  EXPECT_EQ(condition.release({1, 4}), "1.4:done 2.2:1");
}

TEST_F(SyncCondition, has_the_lock_again_before_it_says_that_the_limit_passed) {
  EXPECT_EQ(condition.cancel({1, 2}), "");
  EXPECT_EQ(condition.cancel({1, 2}), "");
  EXPECT_EQ(notify({3, 2}, 1), "3.2:done"); // Of which the next one hears.
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:0");
  condition.release({1, 3});
  EXPECT_EQ(condition.release({1, 4}), "1.4:done 2.2:1");
}

TEST_F(SyncCondition, gives_the_lock_at_once_to_who_gives_up_while_it_is_free) {
  condition.release({3, 2});
  EXPECT_EQ(condition.cancel({2, 2}), "2.2:0");
}

TEST_F(SyncCondition, leaves_it_at_the_notification_that_came_before_the_limit) {
  notify({3, 2}, 1);
  EXPECT_EQ(condition.cancel({1, 2}), "");
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:1");
}

TEST_F(SyncCondition, forgets_who_gives_up_locking_it) {
  EXPECT_EQ(condition.acquire({4, 1}), "");
  EXPECT_EQ(condition.cancel({4, 1}), "4.1:cancelled");
  EXPECT_EQ(condition.release({3, 2}), "3.2:done");
}

TEST_F(SyncCondition, is_waited_for_and_notified_by_its_owner_alone) {
  EXPECT_EQ(condition.wait({4, 1}),
            "4.1:wait() of a Condition that is held by thread 31 of process 1003, not by "
            "thread 41 of process 1004");
  EXPECT_NE(notify({4, 2}, 1), "4.2:done");
  condition.release({3, 2});
  EXPECT_EQ(notify({4, 3}, 1), "4.3:notify() of a Condition that nobody holds");
}

TEST_F(SyncCondition, passes_over_who_has_died) {
  EXPECT_EQ(condition.gone(1), "");
  notify({3, 2}, 1);
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 2.2:1");
}

TEST_F(SyncCondition, passes_on_what_a_dead_process_has_not_heard) {
  notify({3, 2}, 1);
  EXPECT_EQ(condition.gone(1), ""); // On its way back to the lock.
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 2.2:1");
}

TEST_F(SyncCondition, passes_on_what_a_dead_process_may_not_have_used) {
  notify({3, 2}, 1);
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:1");
  EXPECT_EQ(condition.gone(1), "2.2:1"); // With the lock.
}

TEST_F(SyncCondition, passes_nothing_on_of_who_has_let_go_of_the_lock_since) {
  notify({3, 2}, 1);
  condition.release({3, 3});
  condition.release({1, 3});
  condition.release({1, 4});
  EXPECT_EQ(condition.gone(1), "");
}

TEST_F(SyncCondition, is_the_next_ones_when_its_holder_dies) {
  EXPECT_EQ(condition.acquire({4, 1}), "");
  EXPECT_EQ(condition.gone(3), "4.1:done");
}

TEST_F(SyncCondition, lets_a_task_in_that_runs_on_the_thread_that_waits) {
  condition.release({3, 2});
  // As on an inline session: that of 1.2, which left it locked.
  EXPECT_EQ(condition.acquire({1, 3}), "1.3:done");
  EXPECT_EQ(condition.cancel({1, 2}), "1.2:0");
  for (std::uint64_t request = 4; request <= 6; ++request) {
    EXPECT_EQ(condition.ask(try_acquire, {3, request}),
              "3." + std::to_string(request) + ":0");
    condition.release({1, request});
  }
  EXPECT_EQ(condition.ask(try_acquire, {3, 7}), "3.7:1");
}

// -- Barrier --

TEST(SyncBarrier, lets_all_go_when_all_are_there) {
  Object barrier(SyncKind::barrier, 3);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    EXPECT_EQ(barrier.wait({1, round}), "");
    EXPECT_EQ(barrier.wait({2, round}), "");
    EXPECT_EQ(barrier.ask(SyncOp::count_waiting, {4, 1}), "4.1:2");
    auto r = std::to_string(round);
    EXPECT_EQ(barrier.wait({3, round}), "1." + r + ":0 2." + r + ":1 3." + r + ":2");
  }
  EXPECT_EQ(barrier.gone(1), "");
  EXPECT_EQ(barrier.ask(SyncOp::is_broken, {4, 2}), "4.2:0");
}

TEST(SyncBarrier, of_one_waits_for_nobody) {
  Object barrier(SyncKind::barrier, 1);
  EXPECT_EQ(barrier.wait({1, 1}), "1.1:0");
}

TEST(SyncBarrier, breaks_when_one_gives_up) {
  Object barrier(SyncKind::barrier, 3);
  barrier.wait({1, 1});
  barrier.wait({2, 1});
  std::string why = "the barrier is broken: one of its parties has given up waiting";
  EXPECT_EQ(barrier.cancel({1, 1}), "2.1:" + why + " 1.1:cancelled");
  EXPECT_EQ(barrier.cancel({2, 1}), "");
  EXPECT_EQ(barrier.wait({3, 1}), "3.1:" + why);
  EXPECT_EQ(barrier.ask(SyncOp::is_broken, {3, 2}), "3.2:1");
}

TEST(SyncBarrier, breaks_when_one_dies_that_waits) {
  Object barrier(SyncKind::barrier, 3);
  barrier.wait({1, 1});
  barrier.wait({2, 1});
  EXPECT_EQ(barrier.gone(3), "");
  std::string why = "the barrier is broken: process 1001 has ended while it waited";
  EXPECT_EQ(barrier.gone(1), "2.1:" + why);
  EXPECT_EQ(barrier.wait({3, 1}), "3.1:" + why);
}

TEST(SyncBarrier, breaks_when_it_is_aborted_until_it_is_reset) {
  Object barrier(SyncKind::barrier, 2);
  barrier.wait({1, 1});
  std::string why = "the barrier is broken: abort() was called";
  EXPECT_EQ(barrier.ask(SyncOp::abort, {2, 1}), "1.1:" + why + " 2.1:done");
  EXPECT_EQ(barrier.ask(SyncOp::abort, {2, 2}), "2.2:done");
  EXPECT_EQ(barrier.wait({1, 2}), "1.2:" + why);
  EXPECT_EQ(barrier.ask(SyncOp::reset, {2, 3}), "2.3:done");
  EXPECT_EQ(barrier.ask(SyncOp::is_broken, {2, 4}), "2.4:0");
  EXPECT_EQ(barrier.wait({1, 3}), "");
  EXPECT_EQ(barrier.wait({2, 5}), "1.3:0 2.5:1");
}

TEST(SyncBarrier, turns_those_away_who_wait_when_it_is_reset) {
  Object barrier(SyncKind::barrier, 2);
  barrier.wait({1, 1});
  EXPECT_EQ(barrier.ask(SyncOp::reset, {2, 1}),
            "1.1:the barrier is broken: reset() was called meanwhile 2.1:done");
  EXPECT_EQ(barrier.wait({1, 2}), "");
  EXPECT_EQ(barrier.wait({2, 2}), "1.2:0 2.2:1");
}

TEST(SyncRequests, that_are_malformed_are_refused) {
  Bytes bytes;
  Writer writer(bytes);
  write(writer, SyncRequest{SyncOp::count_waiting, {1, 2, 3}, 4});
  Reader reader(bytes);
  auto request = read_sync_request(reader);
  EXPECT_EQ(request.op, SyncOp::count_waiting);
  EXPECT_EQ(request.thread, (SyncThread{1, 2, 3}));
  EXPECT_EQ(request.n, 4U);
  Reader half{std::span(bytes).first(bytes.size() / 2)};
  EXPECT_THROW(read_sync_request(half), Error);
  bytes.front() = std::byte{200};
  Reader unknown(bytes);
  EXPECT_THROW(read_sync_request(unknown), Error);
}

} // namespace
} // namespace fiber::actors
