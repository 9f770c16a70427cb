// SPDX-License-Identifier: Apache-2.0
// The promise: waiting tasks leave in order, each task once, suspects apart.

#include "actors/pool/task_queue.hpp"

#include <gtest/gtest.h>

#include "tests/actors/pool/task_ranges.hpp"

using namespace fiber::actors;

namespace {

TEST(TaskQueue, tasks_leave_the_queue_in_the_order_in_which_they_came) {
  TaskQueue queue;
  queue.add(tasks_of(1, {8, 8, 8}));
  queue.add(tasks_of(2, {8}));
  auto first = queue.take(2, 1000);
  EXPECT_EQ(first.call(), 1u);
  EXPECT_EQ(first.from, 0u);
  EXPECT_EQ(first.to, 2u);
  EXPECT_EQ(queue.take(2, 1000).from, 2u) << "a range is of one call only";
  EXPECT_EQ(queue.take(2, 1000).call(), 2u);
  EXPECT_TRUE(queue.empty());
}

TEST(TaskQueue, requeued_tasks_come_before_all_others) {
  TaskQueue queue;
  queue.add(tasks_of(1, {8}));
  queue.put_back(tasks_of(2, {8}));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.next().call(), 2u);
}

TEST(TaskQueue, take_returns_no_more_bytes_than_asked_for_but_at_least_one_task) {
  TaskQueue queue;
  queue.add(tasks_of(1, {10, 10, 10, 100, 10}));
  EXPECT_EQ(queue.take(5, 25).size(), 2u);
  EXPECT_EQ(queue.take(5, 25).size(), 1u);
  EXPECT_EQ(queue.take(5, 25).size(), 1u) << "the large one";
  EXPECT_EQ(queue.size(), 1u);
}

TEST(TaskQueue, the_queue_ignores_empty_ranges) {
  TaskQueue queue;
  queue.add(tasks_of(1, {}));
  queue.put_back(tasks_of(1, {}));
  EXPECT_TRUE(queue.empty());
}

TEST(TaskQueue, remove_takes_the_tasks_of_one_call_with_its_suspects) {
  TaskQueue queue;
  queue.add(tasks_of(1, {8, 8}));
  queue.add(tasks_of(2, {8}));
  queue.suspect(tasks_of(1, {8}));
  queue.suspect(tasks_of(2, {8}));
  EXPECT_EQ(queue.remove(1).size(), 2u);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.suspects(), 1u);
  EXPECT_EQ(queue.take_suspect().call(), 2u);
  EXPECT_EQ(queue.remove(std::nullopt).size(), 1u);
  EXPECT_TRUE(queue.empty());
}

} // namespace
