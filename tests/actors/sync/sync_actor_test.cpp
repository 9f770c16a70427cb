// SPDX-License-Identifier: Apache-2.0
// The promise: a lock ends with its last handle, and waiting requests are answered then.
#include "actors/sync/sync_actor.hpp"
#include "fiber/detail/caf/scheduler.hpp"

#include <memory>
#include <optional>

#include <caf/all.hpp>
#include <gtest/gtest.h>

namespace fiber::actors {
namespace {

class SyncActor : public testing::Test {
protected:
  SyncActor() {
    detail::set_scheduler(config_, "testing");
    system_ = std::make_unique<caf::actor_system>(config_);
    space_ = std::make_shared<ObjectSpace>(system_.get(), 0,
                                           [](std::uint64_t) { return nullptr; });
  }
  ~SyncActor() override {
    space_->close();
    run();
  }

  void run() {
    static_cast<caf::scheduler::test_coordinator&>(system_->scheduler()).run();
  }
  std::size_t actors() const { return system_->registry().running(); }

  /// The answer to a request, once it is there.
  using Outcome = std::shared_ptr<std::optional<ObjectAnswer>>;
  Outcome ask(const detail::HeldId& object, AskKind what, SyncRequest request) {
    Bytes bytes;
    Writer writer(bytes);
    write(writer, request);
    return ask(object, what, std::move(bytes));
  }
  Outcome ask(const detail::HeldId& object, AskKind what, Bytes body) {
    auto outcome = std::make_shared<std::optional<ObjectAnswer>>();
    last_request = space_->ask(
      object, what, Payload(std::move(body)), {},
      [outcome](std::uint64_t, ObjectAnswer answer) { *outcome = std::move(answer); });
    run();
    return outcome;
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::shared_ptr<ObjectSpace> space_;
  std::uint64_t last_request = 0;
};

TEST_F(SyncActor, a_lock_ends_with_its_last_handle) {
  auto before = actors();
  for (int i = 0; i < 1000; ++i) {
    auto lock = open_sync(*system_, space_, SyncKind::lock, 0);
    auto held = ask(lock->held_id(), AskKind::call, {SyncOp::acquire});
    EXPECT_EQ((*held)->what, Answer::done);
    EXPECT_GT(actors(), before);
    lock.reset();
    run();
    ASSERT_EQ(actors(), before);
  }
}

TEST_F(SyncActor, a_waiting_request_is_answered_when_the_session_ends) {
  auto event = open_sync(*system_, space_, SyncKind::event, 0);
  auto waits = ask(event->held_id(), AskKind::call, {SyncOp::wait});
  EXPECT_FALSE(*waits);
  space_->close();
  run();
  ASSERT_TRUE(*waits);
  EXPECT_EQ((*waits)->what, Answer::closed);
}

TEST_F(SyncActor, a_waiting_request_is_answered_when_nobody_holds_the_event) {
  auto event = open_sync(*system_, space_, SyncKind::event, 0);
  auto id = event->held_id();
  auto waits = ask(id, AskKind::call, {SyncOp::wait});
  event.reset(); // A waiter holds a handle, but a process may go wrong.
  run();
  ASSERT_TRUE(*waits);
  EXPECT_EQ((*waits)->what, Answer::closed);
}

TEST_F(SyncActor, a_lock_answers_with_values_and_refusals) {
  auto lock = open_sync(*system_, space_, SyncKind::lock, 0);
  auto id = lock->held_id();
  auto tried = ask(id, AskKind::call, {SyncOp::try_acquire});
  EXPECT_EQ((*tried)->what, Answer::value);
  EXPECT_EQ(Reader((*tried)->body.bytes()).get<std::uint64_t>(), 1U);
  EXPECT_EQ((*ask(id, AskKind::call, {SyncOp::release}))->what, Answer::done);
  auto again = ask(id, AskKind::call, {SyncOp::release});
  EXPECT_EQ((*again)->what, Answer::refused);
  EXPECT_EQ(Reader((*again)->body.bytes()).text(),
            "unlock() of a Lock that nobody holds");
}

TEST_F(SyncActor, a_lock_refuses_an_unknown_request) {
  auto lock = open_sync(*system_, space_, SyncKind::lock, 0);
  auto id = lock->held_id();
  EXPECT_EQ((*ask(id, AskKind::call, Bytes(3)))->what, Answer::refused);
  EXPECT_EQ((*ask(id, AskKind::get, Bytes()))->what, Answer::refused);
  EXPECT_EQ((*ask(id, AskKind::call, {SyncOp::acquire}))->what, Answer::done);
}

TEST_F(SyncActor, a_cancelled_wait_ends) {
  auto lock = open_sync(*system_, space_, SyncKind::lock, 0);
  auto id = lock->held_id();
  ask(id, AskKind::call, {SyncOp::acquire});
  auto waits = ask(id, AskKind::call, {SyncOp::acquire});
  space_->tell(id, last_request, AskKind::cancel);
  run();
  ASSERT_TRUE(*waits);
  EXPECT_EQ((*waits)->what, Answer::cancelled);
}

} // namespace
} // namespace fiber::actors
