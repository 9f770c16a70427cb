// SPDX-License-Identifier: Apache-2.0
// The promise: an idle slot takes tasks that wait behind another slot's, when no others
// are to come, and tasks that are handed back are neither lost nor run twice.

#include "tests/actors/pool/pool_fixture.hpp"

namespace fiber::actors {
namespace {

// Each of them would have to be taken from a slot that has just got it.
TEST_F(PoolTest, idle_slots_wait_for_the_tasks_that_are_still_to_come) {
  settings.workers = 2;
  start_pool();
  submit_call(1, AnyCallable::of<int, false>(&same), 8, 8, 10000);
  auto& busy = up(1, nullptr, 0);
  up(2, nullptr, 1);
  EXPECT_TRUE(busy.recalls.empty());
  pass(std::chrono::milliseconds(4));
  EXPECT_TRUE(busy.recalls.empty());
  pass(std::chrono::milliseconds(1)); // They are late.
  EXPECT_EQ(busy.recalls.size(), 1u);
}

TEST_F(PoolTest, idle_slots_do_not_wait_for_good_if_tasks_follow_slowly) {
  settings.workers = 2;
  start_pool();
  submit_call(1, AnyCallable::of<int, false>(&same), 8, 8, 10000);
  auto& busy = up(1, nullptr, 0);
  auto& other = up(2, nullptr, 1);
  pass(std::chrono::milliseconds(4));
  submit_call(2, AnyCallable::of<int, false>(&same), 1, 1, 10000);
  ASSERT_EQ(other.runs.size(), 1u);
  answer(2, 1);
  EXPECT_TRUE(busy.recalls.empty());
  pass(std::chrono::milliseconds(1)); // More tasks came 1 ms ago.
  EXPECT_EQ(busy.recalls.size(), 1u);
}

TEST_F(PoolTest, idle_slots_take_tasks_that_came_when_no_slot_had_a_second_one) {
  settings.workers = 2;
  submit(2);
  auto& busy = up(1, nullptr, 0);
  up(2, nullptr, 1);
  answer(1, 1); // Now there is an idle slot, and nothing to take.
  pass(std::chrono::milliseconds(5));
  EXPECT_TRUE(busy.recalls.empty());
  submit_call(2, AnyCallable::of<int, false>(&same), 8, 8);
  ASSERT_EQ(busy.runs.size(), 2u);
  answer(2, 1);
  pass(std::chrono::milliseconds(5));
  EXPECT_EQ(busy.recalls.size(), 1u);
}

TEST_F(PoolTest, a_recall_of_all_waits_for_the_answer_to_one_of_some) {
  settings.workers = 2;
  submit(8, 8);
  auto& busy = up(1, nullptr, 0);
  up(2, nullptr, 1);
  pass(std::chrono::milliseconds(5));
  ASSERT_EQ(busy.recalls.size(), 1u); // For the idle node.
  EXPECT_EQ(busy.recalls[0].most, 4u);
  tell(CancelCall{1});
  EXPECT_EQ(busy.recalls.size(), 1u);
  tell(NodeHandedBack{1, {0, 5, 9}});
  ASSERT_EQ(busy.recalls.size(), 2u);
  EXPECT_EQ(busy.recalls[1].most, UINT32_MAX);
}

TEST_F(PoolTest, a_worker_runs_one_of_its_tasks_and_has_prefetched_the_others) {
  settings.workers = settings.workers_per_job = 2;
  submit(9, 4);
  EXPECT_EQ(stats().running, 0u);
  up(1);
  EXPECT_EQ(stats().workers, 2u);
  EXPECT_EQ(stats().running, 2u);
  EXPECT_EQ(stats().prefetched + stats().queued, 7u);
  EXPECT_GE(stats().prefetched, 6u);
}

TEST_F(PoolTest, tasks_sent_after_a_recall_do_not_count_as_handed_back) {
  submit(3, 3);
  up(1);
  tell(NodeHandedBack{1, {0, 2, 3}}); // Knows of two tasks only.
  EXPECT_EQ(stats().running, 1u);
  EXPECT_EQ(stats().prefetched, 1u);
  answer(1, 1);
  answer(1, 3);
  EXPECT_TRUE(has_value(2));
}

} // namespace
} // namespace fiber::actors
