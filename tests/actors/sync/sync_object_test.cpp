// SPDX-License-Identifier: Apache-2.0
// The promise: locks, semaphores, events, conditions and barriers do what Python's do;
// waiting requests are served in order; and what a dead process held goes to the next
// one.
#include "actors/sync/sync_object.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace fiber::actors {
namespace {

/// Returns replies as "process.request:answer"; a value is shown as its number.
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

/// An object that threads of several processes use. The pid of process 1 is 1001; its
/// thread 2 has the tid 12.
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

TEST(SyncLock, a_lock_has_one_holder_at_a_time_in_order_of_arrival) {
  Object lock(SyncKind::lock);
  EXPECT_EQ(lock.acquire({1, 1}), "1.1:done");
  EXPECT_EQ(lock.acquire({2, 1}), "");
  EXPECT_EQ(lock.acquire({3, 1}), "");
  EXPECT_EQ(lock.release({1, 2}), "1.2:done 2.1:done");
  EXPECT_EQ(lock.release({2, 2}), "2.2:done 3.1:done");
  EXPECT_EQ(lock.release({3, 2}), "3.2:done");
}

TEST(SyncLock, a_lock_is_not_recursive) {
  Object lock(SyncKind::lock);
  lock.acquire({1, 1});
  EXPECT_EQ(lock.acquire({1, 2}), "");
  EXPECT_EQ(lock.release({1, 3}), "1.3:done 1.2:done");
}

TEST(SyncLock, any_process_may_unlock_a_lock_once) {
  Object lock(SyncKind::lock);
  EXPECT_EQ(lock.release({2, 1}), "2.1:unlock() of a Lock that nobody holds");
  lock.acquire({1, 1});
  EXPECT_EQ(lock.release({2, 2}), "2.2:done");
  EXPECT_EQ(lock.release({1, 2}), "1.2:unlock() of a Lock that nobody holds");
  // The first holder holds nothing any more that its death could release.
  EXPECT_EQ(lock.acquire({2, 3}), "2.3:done");
  EXPECT_EQ(lock.gone(1), "");
  EXPECT_EQ(lock.ask(try_acquire, {3, 1}), "3.1:0");
}

TEST(SyncLock, try_acquire_does_not_wait) {
  Object lock(SyncKind::lock);
  EXPECT_EQ(lock.ask(try_acquire, {1, 1}), "1.1:1");
  EXPECT_EQ(lock.ask(try_acquire, {2, 1}), "2.1:0");
  EXPECT_EQ(lock.waiting(), 0U);
  EXPECT_EQ(lock.release({1, 2}), "1.2:done");
}

TEST(SyncLock, a_lock_passes_on_when_its_holder_dies) {
  Object lock(SyncKind::lock);
  lock.acquire({1, 1});
  lock.acquire({1, 2});
  lock.acquire({2, 1});
  lock.acquire({3, 1});
  EXPECT_EQ(lock.gone(1), "2.1:done"); // The second request of process 1 is forgotten.
  EXPECT_EQ(lock.gone(2), "3.1:done"); // Whether or not 2 has read its answer.
}

TEST(SyncLock, a_cancelled_acquire_is_forgotten) {
  Object lock(SyncKind::lock);
  lock.acquire({1, 1});
  lock.acquire({2, 1});
  lock.acquire({3, 1});
  EXPECT_EQ(lock.cancel({2, 1}), "2.1:cancelled");
  EXPECT_EQ(lock.cancel({2, 1}), "");
  EXPECT_EQ(lock.release({1, 2}), "1.2:done 3.1:done");
  EXPECT_EQ(lock.cancel({3, 1}), ""); // Too late: it was granted.
  EXPECT_EQ(lock.ask(try_acquire, {1, 3}), "1.3:0");
}

TEST(SyncLock, a_lock_refuses_an_operation_that_it_does_not_have) {
  Object lock(SyncKind::lock);
  EXPECT_EQ(lock.wait({1, 1}), "1.1:a Lock has no operation 3");
}

// -- Semaphore, BoundedSemaphore --

TEST(SyncSemaphore, permits_are_granted_in_order_of_arrival) {
  Object permits(SyncKind::semaphore, 2);
  EXPECT_EQ(permits.acquire({1, 1}), "1.1:done");
  EXPECT_EQ(permits.acquire({1, 2}), "1.2:done");
  EXPECT_EQ(permits.ask(try_acquire, {1, 3}), "1.3:0");
  for (std::uint64_t process = 2; process <= 4; ++process)
    EXPECT_EQ(permits.acquire({process, 1}), "");
  EXPECT_EQ(permits.release({1, 4}, 2), "1.4:done 2.1:done 3.1:done");
  EXPECT_EQ(permits.cancel({4, 1}), "4.1:cancelled");
}

TEST(SyncSemaphore, a_semaphore_grows_by_releases) {
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

TEST(SyncSemaphore, a_dead_process_returns_its_permits) {
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

TEST(SyncSemaphore, a_permit_that_another_process_released_is_not_returned_twice) {
  Object permits(SyncKind::semaphore, 1);
  permits.acquire({1, 1});
  EXPECT_EQ(permits.release({2, 1}), "2.1:done");
  EXPECT_EQ(permits.gone(1), "");
  EXPECT_EQ(permits.ask(try_acquire, {3, 1}), "3.1:1");
  EXPECT_EQ(permits.ask(try_acquire, {3, 2}), "3.2:0");
}

TEST(SyncSemaphore, a_bounded_semaphore_never_exceeds_its_limit) {
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

TEST(SyncRLock, an_rlock_is_recursive_only_for_the_owning_thread) {
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

TEST(SyncRLock, only_the_owner_unlocks_an_rlock) {
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

TEST(SyncRLock, an_rlock_that_was_locked_twice_passes_on_when_its_holder_dies) {
  Object lock(SyncKind::rlock);
  lock.acquire({1, 1});
  lock.acquire({1, 2});
  lock.acquire({1, 3}, 2);
  lock.acquire({2, 1});
  EXPECT_EQ(lock.gone(1), "2.1:done");
  EXPECT_EQ(lock.release({2, 2}), "2.2:done");
  EXPECT_EQ(lock.waiting(), 0U);
}

TEST(SyncRLock, an_rlock_has_no_wait_and_no_notify) {
  Object lock(SyncKind::rlock);
  lock.acquire({1, 1});
  EXPECT_EQ(lock.wait({1, 2}), "1.2:an RLock has no operation 3");
  EXPECT_EQ(lock.ask(SyncOp::notify, {1, 3}), "1.3:an RLock has no operation 7");
}

// -- Event --

TEST(SyncEvent, setting_an_event_wakes_all_waiters) {
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

TEST(SyncEvent, an_event_forgets_cancelled_and_dead_waiters) {
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

/// A condition with two waiters, 1.2, which has locked it twice, and 2.2; 3.1 owns it.
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

TEST_F(SyncCondition, a_notified_waiter_reacquires_the_lock) {
  EXPECT_EQ(notify({3, 2}, 1), "3.2:done");
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:1");
  EXPECT_EQ(condition.acquire({3, 4}), "");
  EXPECT_EQ(condition.release({1, 3}), "1.3:done"); // It is locked twice, as before.
  EXPECT_EQ(condition.release({1, 4}), "1.4:done 3.4:done");
  EXPECT_EQ(condition.waiting(), 1U);
}

TEST_F(SyncCondition, notify_all_wakes_the_waiters_one_after_the_other) {
  EXPECT_EQ(notify({3, 2}, UINT64_MAX), "3.2:done");
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:1");
  condition.release({1, 3});
  EXPECT_EQ(condition.release({1, 4}), "1.4:done 2.2:1");
}

TEST_F(SyncCondition, a_timed_out_wait_returns_only_with_the_lock) {
  EXPECT_EQ(condition.cancel({1, 2}), "");
  EXPECT_EQ(condition.cancel({1, 2}), "");
  EXPECT_EQ(notify({3, 2}, 1), "3.2:done"); // Notifies the next waiter.
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:0");
  condition.release({1, 3});
  EXPECT_EQ(condition.release({1, 4}), "1.4:done 2.2:1");
}

TEST_F(SyncCondition, a_timed_out_wait_takes_a_free_lock_at_once) {
  condition.release({3, 2});
  EXPECT_EQ(condition.cancel({2, 2}), "2.2:0");
}

TEST_F(SyncCondition, a_notification_before_the_timeout_counts) {
  notify({3, 2}, 1);
  EXPECT_EQ(condition.cancel({1, 2}), "");
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:1");
}

TEST_F(SyncCondition, a_cancelled_acquire_is_forgotten) {
  EXPECT_EQ(condition.acquire({4, 1}), "");
  EXPECT_EQ(condition.cancel({4, 1}), "4.1:cancelled");
  EXPECT_EQ(condition.release({3, 2}), "3.2:done");
}

TEST_F(SyncCondition, only_the_owner_waits_and_notifies) {
  EXPECT_EQ(condition.wait({4, 1}),
            "4.1:wait() of a Condition that is held by thread 31 of process 1003, not by "
            "thread 41 of process 1004");
  EXPECT_NE(notify({4, 2}, 1), "4.2:done");
  condition.release({3, 2});
  EXPECT_EQ(notify({4, 3}, 1), "4.3:notify() of a Condition that nobody holds");
}

TEST_F(SyncCondition, a_dead_waiter_is_not_notified) {
  EXPECT_EQ(condition.gone(1), "");
  notify({3, 2}, 1);
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 2.2:1");
}

TEST_F(SyncCondition, a_notification_of_a_waiter_that_dies_passes_on) {
  notify({3, 2}, 1);
  EXPECT_EQ(condition.gone(1), ""); // It waited to reacquire the lock.
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 2.2:1");
}

TEST_F(SyncCondition, a_notification_passes_on_if_the_notified_owner_dies) {
  notify({3, 2}, 1);
  EXPECT_EQ(condition.release({3, 3}), "3.3:done 1.2:1");
  EXPECT_EQ(condition.gone(1), "2.2:1"); // It owned the lock.
}

TEST_F(SyncCondition, a_notification_does_not_pass_on_once_the_lock_was_released) {
  notify({3, 2}, 1);
  condition.release({3, 3});
  condition.release({1, 3});
  condition.release({1, 4});
  EXPECT_EQ(condition.gone(1), "");
}

TEST_F(SyncCondition, a_condition_passes_on_when_its_holder_dies) {
  EXPECT_EQ(condition.acquire({4, 1}), "");
  EXPECT_EQ(condition.gone(3), "4.1:done");
}

TEST_F(SyncCondition, a_task_on_the_waiting_thread_may_lock_the_condition) {
  condition.release({3, 2});
  // As on an inline session: a task on the thread of 1.2, which leaves the lock locked.
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

TEST(SyncBarrier, a_barrier_opens_when_all_parties_wait) {
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

TEST(SyncBarrier, a_barrier_of_one_does_not_wait) {
  Object barrier(SyncKind::barrier, 1);
  EXPECT_EQ(barrier.wait({1, 1}), "1.1:0");
}

TEST(SyncBarrier, a_barrier_breaks_when_a_wait_is_cancelled) {
  Object barrier(SyncKind::barrier, 3);
  barrier.wait({1, 1});
  barrier.wait({2, 1});
  std::string why = "the barrier is broken: one of its parties has given up waiting";
  EXPECT_EQ(barrier.cancel({1, 1}), "2.1:" + why + " 1.1:cancelled");
  EXPECT_EQ(barrier.cancel({2, 1}), "");
  EXPECT_EQ(barrier.wait({3, 1}), "3.1:" + why);
  EXPECT_EQ(barrier.ask(SyncOp::is_broken, {3, 2}), "3.2:1");
}

TEST(SyncBarrier, a_barrier_breaks_when_a_waiting_process_dies) {
  Object barrier(SyncKind::barrier, 3);
  barrier.wait({1, 1});
  barrier.wait({2, 1});
  EXPECT_EQ(barrier.gone(3), "");
  std::string why = "the barrier is broken: process 1001 has ended while it waited";
  EXPECT_EQ(barrier.gone(1), "2.1:" + why);
  EXPECT_EQ(barrier.wait({3, 1}), "3.1:" + why);
}

TEST(SyncBarrier, an_aborted_barrier_is_broken_until_it_is_reset) {
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

TEST(SyncBarrier, a_reset_refuses_the_waiting_parties) {
  Object barrier(SyncKind::barrier, 2);
  barrier.wait({1, 1});
  EXPECT_EQ(barrier.ask(SyncOp::reset, {2, 1}),
            "1.1:the barrier is broken: reset() was called meanwhile 2.1:done");
  EXPECT_EQ(barrier.wait({1, 2}), "");
  EXPECT_EQ(barrier.wait({2, 2}), "1.2:0 2.2:1");
}

TEST(SyncRequests, a_malformed_request_is_refused) {
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
