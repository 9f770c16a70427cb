// SPDX-License-Identifier: Apache-2.0
// The promise: a task that is to stop ends for its caller at once; its node has a while
// to end it, too.

#include "tests/actors/pool/pool_fixture.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;

class PoolStop : public PoolTest {
protected:
  PoolStop() {
    settings.task_timeout = 5s;
    settings.cancel_grace = 2s;
  }
};

TEST_F(PoolStop, what_runs_too_long_fails_at_once_and_its_node_has_a_while) {
  submit(1);
  auto& node = up(1);
  tell(NodeOverdue{1, {0, 1}});
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
  tell(NodeOverdue{1, {0, 1}});
  pass(1999ms);
  EXPECT_FALSE(node.killed);
  pass(1ms);
  EXPECT_TRUE(node.killed);
  EXPECT_EQ(lose(1), ExitKind::planned);
  EXPECT_EQ(stats().workers_lost, 0u);
}

TEST_F(PoolStop, what_ends_in_that_while_costs_nothing_and_counts_no_more) {
  submit(1);
  auto& node = up(1);
  tell(NodeOverdue{1, {0, 1}});
  answer(1, 1);
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
  pass(10s);
  EXPECT_FALSE(node.killed);
  EXPECT_EQ(stats().late, 0u);
}

TEST_F(PoolStop, what_a_node_says_of_tasks_it_does_not_have_is_not_heard) {
  submit(1);
  up(1);
  tell(NodeOverdue{1, {7, 1}});
  tell(NodeOverdue{1, {0, 5}});
  tell(NodeOverdue{9, {0, 1}});
  answer(1, 1);
  EXPECT_TRUE(has_value(0));
}

TEST_F(PoolStop, what_is_cancelled_while_it_runs_is_told_and_has_a_while) {
  submit(2);
  auto& node = up(1);
  tell(CancelCall{1});
  for (std::size_t i : {0u, 1u})
    EXPECT_THROW(std::rethrow_exception(failure(i)), Cancelled);
  EXPECT_EQ(node.stopped, std::vector<std::uint64_t>{1});
  ASSERT_EQ(node.recalls.size(), 1u);
  pass(1999ms);
  EXPECT_FALSE(node.killed);
  pass(1ms);
  EXPECT_TRUE(node.killed);
}

TEST_F(PoolStop, an_idle_node_is_told_nothing) {
  submit(1);
  auto& node = up(1);
  answer(1, 1);
  tell(CancelCall{1});
  pass(10s);
  EXPECT_TRUE(node.stopped.empty());
  EXPECT_FALSE(node.killed);
}

TEST_F(PoolStop, a_task_that_takes_its_node_along_after_its_time_charges_nobody) {
  settings.max_retries = 1;
  submit(1);
  up(1);
  tell(NodeOverdue{1, {0, 1}});
  EXPECT_EQ(lose(1, -11), ExitKind::lost);
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
  EXPECT_EQ(stats().retries, 0u);
}

TEST_F(PoolStop, where_tasks_nest_no_node_is_ended) {
  settings.nested = true;
  submit(1);
  auto& node = up(1);
  tell(CancelCall{1});
  pass(10s);
  EXPECT_FALSE(node.killed);
}

} // namespace
} // namespace fiber::actors
