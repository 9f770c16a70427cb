// SPDX-License-Identifier: Apache-2.0
// The promise: each task that a slot has leaves its table once: answered, handed back or
// lost.

#include "actors/pool/running_table.hpp"

#include <gtest/gtest.h>

#include "tests/actors/pool/task_ranges.hpp"

using namespace fiber::actors;

namespace {

TEST(Slot, a_slot_accepts_only_the_end_of_its_oldest_task) {
  Slot slot;
  EXPECT_EQ(slot.assign(tasks_of(1, {8, 8})), 1u);
  EXPECT_EQ(slot.assign(tasks_of(2, {8})), 3u);
  EXPECT_FALSE(slot.finish(2)) << "not its turn";
  EXPECT_EQ(slot.finish(1)->from, 0u);
  EXPECT_FALSE(slot.finish(1)) << "a duplicate";
  EXPECT_EQ(slot.finish(2)->from, 1u);
  EXPECT_EQ(slot.finish(3)->call(), 2u);
  EXPECT_FALSE(slot.finish(4)) << "never sent";
  EXPECT_EQ(slot.outstanding(), 0u);
}

TEST(Slot, a_slot_accepts_the_end_of_any_task_if_tasks_nest) {
  Slot slot;
  slot.assign(tasks_of(1, {8, 8, 8}));
  EXPECT_EQ(slot.finish_nested(2)->from, 1u);
  EXPECT_FALSE(slot.finish_nested(2)) << "a duplicate";
  EXPECT_EQ(slot.finish_nested(1)->from, 0u);
  EXPECT_EQ(slot.finish_nested(3)->from, 2u);
  EXPECT_FALSE(slot.finish_nested(4)) << "never sent";
  EXPECT_EQ(slot.outstanding(), 0u);
}

TEST(Slot, a_slot_keeps_abandoned_tasks_until_they_leave) {
  Slot slot;
  slot.assign(tasks_of(1, {8, 8, 8}));
  slot.assign(tasks_of(2, {8}));
  EXPECT_FALSE(slot.has_abandoned(4));
  EXPECT_EQ(slot.abandon(2)->from, 1u);
  EXPECT_FALSE(slot.abandon(2)) << "a second time";
  EXPECT_FALSE(slot.abandon(5)) << "never sent";
  EXPECT_FALSE(slot.has_abandoned(1));
  EXPECT_TRUE(slot.has_abandoned(2));
  auto rest = slot.abandon_call(1);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].from, 0u);
  EXPECT_EQ(rest[1].from, 2u);
  EXPECT_FALSE(rest[0].ended) << "its caller has yet to hear";
  EXPECT_EQ(slot.outstanding(), 4u);
  EXPECT_TRUE(slot.finish(1)->ended);
  EXPECT_TRUE(slot.finish(2)->ended);
  EXPECT_TRUE(slot.finish(3)->ended);
  EXPECT_FALSE(slot.has_abandoned(4));
  EXPECT_FALSE(slot.finish(4)->ended);
}

TEST(Slot, a_slot_finds_its_oldest_task_without_a_copy) {
  Slot slot;
  EXPECT_EQ(slot.single_out_uncopied(), nullptr);
  slot.assign(tasks_of(1, {8, 8, 8}));
  auto* first = slot.single_out_uncopied();
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(slot.is_oldest(*first));
  EXPECT_EQ(first->tasks.size(), 1u);
  first->tasks.twin = std::make_shared<Twin>();
  EXPECT_TRUE(slot.abandon(2));
  auto* third = slot.single_out_uncopied();
  ASSERT_NE(third, nullptr);
  EXPECT_FALSE(slot.is_oldest(*third));
  EXPECT_EQ(third->first_seq, 3u);
  third->tasks.twin = std::make_shared<Twin>();
  EXPECT_EQ(slot.single_out_uncopied(), nullptr);
  EXPECT_EQ(slot.outstanding(), 3u);
}

TEST(Slot, a_slot_tells_overtaken_tasks_from_abandoned_ones) {
  Slot slot;
  slot.assign(tasks_of(1, {8, 8, 8}));
  EXPECT_TRUE(slot.overtake(2));
  EXPECT_FALSE(slot.overtake(2)) << "a second time";
  EXPECT_TRUE(slot.abandon(3));
  EXPECT_FALSE(slot.overtake(3)) << "it had ended otherwise";
  EXPECT_FALSE(slot.finish(1)->overtaken);
  auto second = slot.finish(2);
  EXPECT_TRUE(second->ended && second->overtaken);
  EXPECT_FALSE(slot.finish(3)->overtaken);
}

TEST(Slot, a_slot_hands_back_some_of_its_tasks) {
  Slot slot;
  slot.assign(tasks_of(1, {8, 8, 8}));
  slot.assign(tasks_of(2, {8, 8}));
  auto back = slot.hand_back(3, 6);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].call(), 1u);
  EXPECT_EQ(back[0].from, 2u);
  EXPECT_EQ(back[1].size(), 2u);
  EXPECT_EQ(slot.outstanding(), 2u);
  EXPECT_TRUE(slot.finish(1) && slot.finish(2));
  EXPECT_FALSE(slot.finish(3));
}

TEST(Slot, a_slot_keeps_tasks_that_were_sent_while_others_were_handed_back) {
  Slot slot;
  slot.assign(tasks_of(1, {8, 8}));
  slot.assign(tasks_of(2, {8, 8})); // Sent after the recall, so not part of the answer.
  auto back = slot.hand_back(2, 3);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].call(), 1u);
  EXPECT_TRUE(slot.finish(1));
  EXPECT_TRUE(slot.finish(3) && slot.finish(4));
}

TEST(Slot, a_slot_that_hands_back_nothing_loses_nothing) {
  Slot slot;
  slot.assign(tasks_of(1, {8, 8}));
  EXPECT_TRUE(slot.hand_back(3, 3).empty());
  EXPECT_TRUE(slot.hand_back(9, 2).empty()) << "from a node that errs";
  EXPECT_EQ(slot.outstanding(), 2u);
}

TEST(Slot, a_slot_gives_up_all_tasks_once_with_their_numbers) {
  Slot slot;
  slot.assign(tasks_of(1, {8, 8}));
  slot.assign(tasks_of(2, {8}));
  slot.finish(1);
  auto lost = slot.take_all();
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].first_seq, 2u);
  EXPECT_EQ(lost[1].first_seq, 3u);
  EXPECT_TRUE(slot.take_all().empty());
  EXPECT_EQ(slot.outstanding(), 0u);
  EXPECT_EQ(slot.assign(tasks_of(3, {8})), 4u) << "a number is never used again";
}

TEST(Slot, a_slot_knows_the_calls_of_its_tasks) {
  Slot slot;
  slot.assign(tasks_of(1, {8}));
  slot.assign(tasks_of(2, {8}));
  EXPECT_TRUE(slot.holds(1) && slot.holds(2));
  slot.finish(1);
  EXPECT_FALSE(slot.holds(1));
  EXPECT_EQ(slot.call().id, 2u);
}

TEST(Node, a_node_reads_the_task_that_each_slot_has_announced) {
  Node node;
  EXPECT_EQ(node.started(0), 0u) << "no shared page";
  node.page = fiber::backends::SharedPage::create(4096);
  SlotProgress::announce(node.page->data(), 1, 7);
  EXPECT_EQ(node.started(0), 0u);
  EXPECT_EQ(node.started(1), 7u);
}

} // namespace
