// SPDX-License-Identifier: Apache-2.0
// The promise: each function runs once, in its turn, and none is left at the end.

#include "libfiber/session/work_thread.hpp"

#include <future>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::detail {
namespace {

using namespace std::chrono_literals;

TEST(WorkThread, everything_runs_in_order_before_the_end) {
  std::vector<int> ran;
  WorkThread thread;
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(thread.add([&, i] { ran.push_back(i); }));
  thread.end();
  ASSERT_EQ(ran.size(), 100u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
  EXPECT_FALSE(thread.add([] {}));
}

TEST(WorkThread, functions_run_in_the_order_they_are_due) {
  auto now = WorkThread::Clock::now();
  std::vector<int> ran;
  std::promise<void> both;
  WorkThread thread;
  thread.add(
    [&] {
      ran.push_back(2);
      both.set_value();
    },
    now + 20ms);
  thread.add([&] { ran.push_back(1); }, now + 10ms);
  both.get_future().wait();
  thread.end();
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

TEST(WorkThread, end_runs_functions_that_are_not_due_yet) {
  auto ran = false, refused = false;
  WorkThread thread;
  thread.add(
    [&] {
      ran = true;
      refused = !thread.add([] {});
    },
    WorkThread::Clock::now() + 24h);
  thread.end();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(refused);
}

TEST(WorkThread, a_function_is_destroyed_once_it_has_run) {
  auto object = std::make_shared<int>(1);
  std::weak_ptr<int> held = object;
  WorkThread thread;
  std::promise<void> after;
  thread.add([object = std::move(object)] {});
  thread.add([&] { after.set_value(); });
  after.get_future().wait();
  EXPECT_TRUE(held.expired());
}

} // namespace
} // namespace fiber::detail
