// SPDX-License-Identifier: Apache-2.0
// The promise: a task that runs for much longer than others gets a second copy, and is
// still one task: it ends once, and each lost worker is charged once.

#include "tests/actors/pool/pool_fixture.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;

class SpeculatingPool : public PoolTest {
protected:
  /// Runs four tasks of 100 ms each, except task 1, which node 2 still runs as its first.
  void begin() {
    speculate = 3;
    settings.workers = 2;
    submit(4);
    fast = &up(1, nullptr, 0);
    slow = &up(2, nullptr, 1);
    ASSERT_EQ(slow->runs.at(0).first_index, 1u);
    for (std::uint64_t seq = 1; seq <= 3; ++seq)
      answer(1, seq);
    ASSERT_EQ(fast->runs.size(), 3u);
  }
  /// Waits until node 1 has the copy, as its fourth task.
  void copy() {
    begin();
    pass(500ms);
    ASSERT_EQ(fast->runs.size(), 4u);
    ASSERT_EQ(fast->runs[3].first_index, 1u);
    ASSERT_EQ(fast->runs[3].first_seq, 4u);
  }

  Inbox* fast = nullptr;
  Inbox* slow = nullptr;
};

TEST_F(SpeculatingPool, a_task_that_runs_for_the_set_multiple_of_the_median_is_copied) {
  begin();
  pass(200ms);
  EXPECT_EQ(fast->runs.size(), 3u);
  pass(300ms);
  ASSERT_EQ(fast->runs.size(), 4u);
  EXPECT_EQ(fast->runs[3].attempt, 2u);
  EXPECT_EQ(stats().speculated, 1u);
  pass(10s);
  EXPECT_EQ(fast->runs.size(), 4u); // No third one.
  EXPECT_EQ(slow->runs.size(), 1u);
}

TEST_F(SpeculatingPool, no_task_is_copied_unless_the_call_asks_for_it) {
  settings.workers = 2;
  submit(4);
  auto& fast = up(1, nullptr, 0);
  up(2, nullptr, 1);
  for (std::uint64_t seq = 1; seq <= 3; ++seq)
    answer(1, seq);
  pass(10s);
  EXPECT_EQ(fast.runs.size(), 3u);
}

TEST_F(SpeculatingPool, the_result_of_the_second_copy_stops_the_first) {
  copy();
  answer(1, 4);
  EXPECT_TRUE(has_value(1));
  EXPECT_EQ(slow->stopped_tasks, std::vector<std::uint64_t>{1});
  answer(2, 1);
  EXPECT_TRUE(has_value(1));
  EXPECT_EQ(stats().done, 4u);
  EXPECT_EQ(stats().late, 1u);
  EXPECT_EQ(stats().retries, 0u);
}

TEST_F(SpeculatingPool, the_result_of_the_first_copy_stops_the_second) {
  copy();
  answer(2, 1);
  EXPECT_TRUE(has_value(1));
  EXPECT_EQ(fast->stopped_tasks, std::vector<std::uint64_t>{4});
  answer(1, 4);
  EXPECT_TRUE(has_value(1));
  EXPECT_EQ(stats().done, 4u);
}

TEST_F(SpeculatingPool, a_worker_that_does_not_stop_the_losing_copy_is_replaced) {
  copy();
  answer(1, 4);
  pass(settings.cancel_grace);
  EXPECT_TRUE(slow->killed);
  EXPECT_FALSE(fast->killed);
}

TEST_F(SpeculatingPool, a_task_is_not_retried_while_one_copy_is_left) {
  copy();
  lose(2);
  EXPECT_TRUE(results->outcomes[1].empty());
  auto& next = up(3);
  EXPECT_TRUE(next.runs.empty());
  answer(1, 4);
  EXPECT_TRUE(has_value(1));
}

TEST_F(SpeculatingPool, a_task_that_lost_both_copies_is_retried) {
  copy();
  lose(1);
  lose(2);
  auto& next = up(3);
  ASSERT_EQ(next.runs.size(), 1u);
  EXPECT_EQ(next.runs[0].first_index, 1u);
  EXPECT_EQ(next.runs[0].attempt, 3u);
  answer(3, 1);
  EXPECT_TRUE(has_value(1));
}

TEST_F(SpeculatingPool, a_task_is_charged_once_for_both_copies) {
  settings.max_retries = 1;
  copy();
  lose(2, -11);
  lose(1, -9);
  ASSERT_TRUE(results->outcomes[1].empty());
  ASSERT_EQ(up(3).runs.size(), 1u);
  lose(3, -6);
  try {
    std::rethrow_exception(failure(1));
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.exits(), (std::vector<std::optional<int>>{-9, -6}));
    EXPECT_EQ(lost.attempts(), 3);
  }
}

TEST_F(SpeculatingPool, one_copy_goes_on_when_the_other_is_handed_back) {
  copy();
  tell(NodeHandedBack{1, {0, 4, 5}});
  EXPECT_TRUE(results->outcomes[1].empty());
  EXPECT_EQ(fast->runs.size(), 4u);
  answer(2, 1);
  EXPECT_TRUE(has_value(1));
  EXPECT_TRUE(fast->stopped_tasks.empty());
}

TEST_F(SpeculatingPool, a_task_fails_only_when_both_copies_are_overdue) {
  settings.task_timeout = 1s;
  copy();
  tell(NodeOverdue{2, {0, 1}});
  EXPECT_TRUE(results->outcomes[1].empty());
  tell(NodeOverdue{1, {0, 4}});
  EXPECT_THROW(std::rethrow_exception(failure(1)), TimeoutError);
  EXPECT_EQ(stats().failed, 1u);
}

TEST_F(SpeculatingPool, the_value_of_the_second_copy_counts_when_the_first_is_overdue) {
  settings.task_timeout = 1s;
  copy();
  tell(NodeOverdue{2, {0, 1}});
  answer(1, 4);
  EXPECT_TRUE(has_value(1));
  pass(settings.cancel_grace);
  EXPECT_TRUE(slow->killed);
}

TEST_F(SpeculatingPool, the_first_exception_of_either_copy_ends_the_task) {
  copy();
  throws(1, 4);
  EXPECT_THROW(std::rethrow_exception(failure(1)), RemoteError);
  EXPECT_EQ(slow->stopped_tasks, std::vector<std::uint64_t>{1});
}

TEST_F(SpeculatingPool, the_copy_that_is_left_is_the_retry_of_an_exception) {
  settings.retry_exceptions = true;
  settings.max_retries = 1;
  copy();
  throws(1, 4);
  EXPECT_TRUE(results->outcomes[1].empty());
  EXPECT_EQ(stats().retries, 0u);
  answer(2, 1);
  EXPECT_TRUE(has_value(1));
}

TEST_F(SpeculatingPool, a_task_is_not_retried_more_often_if_both_copies_throw) {
  settings.retry_exceptions = true;
  settings.max_retries = 1; // Two runs: the copies.
  copy();
  throws(1, 4);
  throws(2, 1);
  EXPECT_THROW(std::rethrow_exception(failure(1)), RemoteError);
  EXPECT_EQ(stats().retries, 0u);
}

TEST_F(SpeculatingPool, a_task_without_retries_is_not_copied) {
  settings.max_retries = 0;
  begin();
  pass(10s);
  EXPECT_EQ(fast->runs.size(), 3u);
}

TEST_F(SpeculatingPool, a_task_is_not_copied_within_the_same_job) {
  speculate = 3;
  settings.workers = settings.workers_per_job = 2;
  submit(4);
  auto& node = up(1);
  ASSERT_EQ(node.runs.size(), 2u);
  auto busy = node.runs[0].slot;
  for (std::uint64_t seq = 1; seq <= 3; ++seq)
    answer(1, seq, 1, 1 - busy);
  ASSERT_EQ(stats().done, 3u);
  pass(10s);
  EXPECT_EQ(stats().speculated, 0u);
}

TEST_F(SpeculatingPool, tasks_behind_a_copied_one_are_copied_if_not_handed_back) {
  speculate = 3;
  settings.workers = 2;
  submit(8, 2);
  auto& fast = up(1, nullptr, 0);
  auto& slow = up(2, nullptr, 1);
  ASSERT_EQ(slow.runs.at(0).lengths.size(), 2u);
  auto first = slow.runs[0].first_index;
  for (std::uint64_t seq = 1; stats().done < 6; ++seq)
    answer(1, seq);
  ASSERT_EQ(slow.recalls.size(), 1u); // The node does not answer it.
  auto before = fast.runs.size();
  pass(500ms);
  ASSERT_EQ(fast.runs.size(), before + 1);
  EXPECT_EQ(fast.runs.back().first_index, first);
  EXPECT_EQ(fast.runs.back().lengths.size(), 1u);
  answer(1, fast.runs.back().first_seq);
  pass(500ms);
  ASSERT_EQ(fast.runs.size(), before + 2);
  EXPECT_EQ(fast.runs.back().first_index, first + 1);
  answer(1, fast.runs.back().first_seq);
  EXPECT_EQ(stats().done, 8u);
  EXPECT_EQ(slow.stopped_tasks, (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(SpeculatingPool, a_copied_task_ends_once_when_the_pool_is_terminated) {
  copy();
  tell(TerminatePool{});
  EXPECT_EQ(results->outcomes[1].size(), 1u);
  EXPECT_TRUE(slow->stopped_tasks.empty());
  EXPECT_TRUE(slow->killed);
  EXPECT_TRUE(fast->killed);
}

TEST_F(SpeculatingPool, a_cancelled_task_ends_once_and_both_copies_stop) {
  copy();
  tell(CancelCall{1});
  EXPECT_EQ(results->outcomes[1].size(), 1u);
  answer(1, 4);
  answer(2, 1);
  EXPECT_EQ(results->outcomes[1].size(), 1u);
  EXPECT_EQ(fast->stopped, std::vector<std::uint64_t>{1});
  EXPECT_EQ(slow->stopped, std::vector<std::uint64_t>{1});
  EXPECT_EQ(stats().late, 0u);
}

} // namespace
} // namespace fiber::actors
