// SPDX-License-Identifier: Apache-2.0
// The promise: a cancelled or overdue task ends for its caller at once; its node has a
// grace period to stop it, and is then killed.

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

TEST_F(PoolStop, an_overdue_task_fails_at_once_and_its_node_has_a_grace_period) {
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

TEST_F(PoolStop, an_overdue_task_that_ends_within_the_grace_period_keeps_its_node) {
  submit(1);
  auto& node = up(1);
  tell(NodeOverdue{1, {0, 1}});
  answer(1, 1);
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
  pass(10s);
  EXPECT_FALSE(node.killed);
  EXPECT_EQ(stats().late, 0u);
}

TEST_F(PoolStop, the_pool_ignores_overdue_tasks_that_the_node_does_not_have) {
  submit(1);
  up(1);
  tell(NodeOverdue{1, {7, 1}});
  tell(NodeOverdue{1, {0, 5}});
  tell(NodeOverdue{9, {0, 1}});
  answer(1, 1);
  EXPECT_TRUE(has_value(0));
}

TEST_F(PoolStop, a_cancelled_running_task_is_told_and_has_a_grace_period) {
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

TEST_F(PoolStop, a_cancelled_call_tells_idle_nodes_nothing) {
  submit(1);
  auto& node = up(1);
  answer(1, 1);
  tell(CancelCall{1});
  pass(10s);
  EXPECT_TRUE(node.stopped.empty());
  EXPECT_FALSE(node.killed);
}

TEST_F(PoolStop, an_overdue_task_that_crashes_its_node_is_not_charged) {
  settings.max_retries = 1;
  submit(1);
  up(1);
  tell(NodeOverdue{1, {0, 1}});
  EXPECT_EQ(lose(1, -11), ExitKind::lost);
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
  EXPECT_EQ(stats().retries, 0u);
}

TEST_F(PoolStop, a_node_of_nested_tasks_is_never_killed) {
  settings.nested = true;
  submit(1);
  auto& node = up(1);
  tell(CancelCall{1});
  pass(10s);
  EXPECT_FALSE(node.killed);
}

} // namespace
} // namespace fiber::actors
