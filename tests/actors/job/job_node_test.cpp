// SPDX-License-Identifier: Apache-2.0
// The promise: a node and its slots answer the driver's messages other than tasks.

#include "actors/job/job_node.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "tests/actors/fake_link.hpp"
#include "tests/wire/wire_fixture.hpp"

using namespace fiber;
using namespace fiber::actors;

namespace {

using wire::eventually;

/// A node of one slot; the test plays its driver.
class JobNodeOfOneSlot : public testing::Test {
protected:
  JobNodeOfOneSlot() { log().set_level(spdlog::level::off); }

  template <class... Fields>
  void hear(const Fields&... fields) {
    Bytes message;
    Writer writer(message);
    write(writer, fields...);
    node->on_message(task_stream, std::move(message));
  }

  std::shared_ptr<FakeLink> link = std::make_shared<FakeLink>();
  std::shared_ptr<SlotWorker> slot =
    std::make_shared<SlotWorker>(SlotWorker::Settings{0, 0, link, nullptr, [](auto) {}});
  int exit_code = 0;
  std::shared_ptr<JobNode> node =
    std::make_shared<JobNode>(NodeParts{1,
                                        link,
                                        {slot},
                                        [](const CallCode&) {},
                                        [this](int code) { exit_code = code; },
                                        [](auto, auto) {}});
};

TEST_F(JobNodeOfOneSlot, that_drains_before_it_is_ready_never_reports_ready) {
  node->drain();
  node->slot_ready();
  EXPECT_EQ(link->count(Op::draining), 1u);
  EXPECT_EQ(link->count(Op::ready), 0u);
  EXPECT_TRUE(slot->finished());
}

/// Else tasks that the driver sent before it heard of the drain would be lost.
TEST_F(JobNodeOfOneSlot, that_drains_waits_until_the_driver_retires_it) {
  node->slot_ready();
  EXPECT_EQ(link->count(Op::ready), 1u);
  node->drain();
  node->drain();
  EXPECT_EQ(link->count(Op::draining), 1u);
  EXPECT_EQ(link->count(Op::handed_back), 1u);
  EXPECT_FALSE(slot->finished());
  hear(Op::retire);
  EXPECT_TRUE(slot->finished());
}

TEST_F(JobNodeOfOneSlot, whose_initializer_throws_says_so_and_ends) {
  node->slot_failed(Failure{});
  EXPECT_EQ(link->count(Op::init_failed), 1u);
  EXPECT_EQ(exit_code, 71);
}

TEST_F(JobNodeOfOneSlot, that_hears_nonsense_ends) {
  node->on_message(task_stream, Bytes(3, std::byte{255}));
  EXPECT_EQ(exit_code, 70);
}

/// Counts its live instances.
struct Counted {
  static inline std::atomic<int> alive{0}, seen{0}; ///< Now, and during its last call.
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
  int operator()(int x) const {
    seen = alive.load();
    return x;
  }
  template <class Archive>
  void serialize(Archive&, unsigned) {}
};

/// Gives the slot a task, the first of this call.
template <class F>
void push_task(SlotWorker& slot, std::uint64_t call, const F& f) {
  auto callable = AnyCallable::of<int, false>(f);
  RunTasks tasks;
  tasks.call = tasks.first_seq = call;
  tasks.lengths = {sizeof(int)};
  tasks.arguments = Payload(Bytes(sizeof(int)));
  slot.push(std::move(tasks), std::make_shared<const CallCode>(CallCode{
                                call, false, callable.open(), {}, callable.state()}));
}

TEST(Slot, a_slot_drops_a_closed_call_without_another_task) {
  auto link = std::make_shared<FakeLink>();
  SlotWorker slot({0, 0, link, nullptr, [](auto) {}});
  std::thread thread([&] { slot.run(); });
  push_task(slot, 1, Counted());
  EXPECT_TRUE(eventually([&] { return link->count(Op::results) == 1; }));
  EXPECT_EQ(Counted::alive, 1);
  slot.close(1);
  EXPECT_TRUE(eventually([] { return Counted::alive == 0; }));
  slot.finish();
  thread.join();
}

/// Sees how many Counted live when it is made, and when it runs.
struct Witness {
  static inline int made_beside = -1, ran_beside = -1;
  Witness() { made_beside = Counted::alive; }
  int operator()(int x) const {
    ran_beside = Counted::alive;
    return x;
  }
  template <class Archive>
  void serialize(Archive&, unsigned) {}
};

// So a shared value that both calls hold is not released and fetched again.
TEST(Slot, a_closed_call_is_dropped_between_the_opening_of_the_next_one_and_its_task) {
  SlotWorker slot({0, 0, std::make_shared<FakeLink>(), nullptr, [](auto) {}});
  push_task(slot, 1, Counted());
  ASSERT_TRUE(slot.step());
  push_task(slot, 2, Witness());
  slot.close(1);
  ASSERT_TRUE(slot.step());
  EXPECT_EQ(Witness::made_beside, 1);
  EXPECT_EQ(Witness::ran_beside, 0);
}

// The driver may have given up a task that a slot still holds.
TEST(Slot, a_task_of_a_closed_call_keeps_its_callable_while_it_runs) {
  SlotWorker slot({0, 0, std::make_shared<FakeLink>(), nullptr, [](auto) {}});
  push_task(slot, 1, Counted());
  push_task(slot, 1, Counted());
  ASSERT_TRUE(slot.step());
  slot.close(1);
  ASSERT_TRUE(slot.step());
  EXPECT_EQ(Counted::seen, 1);
  EXPECT_EQ(Counted::alive, 0);
}

} // namespace
