// SPDX-License-Identifier: Apache-2.0
// The promise: a task has what the driver has, pools, processes and managers of its own;
// they end with its job, whatever becomes of that.
#include <csignal>
#include <string>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using fiber::Process; // Not that of processes.hpp.

int square(int x) {
  return x * x;
}
int sum_of_squares(int n) {
  Pool pool(2);
  int sum = 0;
  for (int square : pool.map(square, std::vector<int>{n, n + 1, n + 2}))
    sum += square;
  return sum;
}

class Nested : public EveryMode {};

TEST_P(Nested, pools_work_in_tasks) {
  Pool pool(2);
  EXPECT_EQ(pool.map(sum_of_squares, std::vector<int>{0, 1, 2, 3}),
            (std::vector<int>{5, 14, 29, 50}));
}

TEST_P(Nested, processes_have_processes) {
  auto outer = [](int x) {
    Process inner([](int y) { return square(y) + 1; }, x);
    inner.start();
    inner.join();
    return *inner.exit_code();
  };
  Process process(outer, 3);
  process.start();
  process.join();
  EXPECT_EQ(process.exit_code(), 10);
}

TEST_P(Nested, processes_have_results) {
  EXPECT_EQ(
    fiber::async([](int x) { return fiber::async(square, x + 1).get(); }, 3).get(), 16);
}

TEST_P(Nested, managers_work_in_tasks) {
  auto count = [](int n) {
    Manager manager;
    auto total = manager.value(0);
    Pool pool(2);
    pool.map(fiber::bind(
               [](Value<int> to, int by) { to.apply([](int& t, int b) { t += b; }, by); },
               total),
             std::vector<int>(static_cast<std::size_t>(n), 2));
    return total.get();
  };
  EXPECT_EQ(fiber::async(count, 5).get(), 10);
}

INSTANTIATE_TEST_SUITE_P(With, Nested, testing::ValuesIn(modes()), mode_name);

class NestedJobs : public SessionTest {};

TEST_F(NestedJobs, are_waited_for_at_the_end_of_a_process) {
  open();
  Process process([] { Process([] { note("inner", ""); }).start(); });
  process.start();
  process.join();
  EXPECT_EQ(notes("inner").size(), 1U);
}

TEST_F(NestedJobs, end_with_a_killed_process) {
  open();
  Process process([] {
    Process([] { note_and_wait("inner"); }).start();
    note_and_wait("outer");
  });
  process.start();
  await_note("inner");
  await_note("outer");
  process.kill();
  process.join();
  EXPECT_TRUE(wait_until([] { return !lives(static_cast<pid_t>(noted("inner"))); }));
}

TEST_F(NestedJobs, end_though_something_follows_on_them) {
  open();
  Process process([] {
    auto future = fiber::async(square, 2);
    auto next = future.then([](int x) {
      note_and_wait("follows");
      try {
        return fiber::async(square, x).get();
      } catch (const Closed&) {
        return 0;
      }
    });
    future.get();
    await_note("follows");
  });
  process.start();
  await_note("follows");
  note("go", "");
  process.join();
  EXPECT_EQ(process.exit_code(), 0);
}

/// What a task of a job's own pool says of that argument.
template <class T>
std::string pass_on(T value) {
  try {
    Pool(1).apply([](const T&) {}, value);
  } catch (const RemoteError& error) {
    return error.what();
  }
  return "it was taken";
}

TEST_F(NestedJobs, refuse_handles_of_the_session_around_theirs) {
  open();
  auto refused = [](const std::string& told) {
    return told.find("of another session can't be used in this one") != told.npos;
  };
  auto queue = fiber::async(pass_on<SimpleQueue<int>>, SimpleQueue<int>()).get();
  EXPECT_TRUE(refused(queue)) << queue;
  auto shared =
    fiber::async(pass_on<Shared<std::string>>, share(std::string("text"))).get();
  EXPECT_TRUE(refused(shared)) << shared;
}

} // namespace
} // namespace fiber::e2e
