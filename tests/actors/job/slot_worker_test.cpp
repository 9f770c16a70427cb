// SPDX-License-Identifier: Apache-2.0
// The promise: a slot reports how each of its tasks has ended.

#include "actors/job/slot_worker.hpp"

#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/wire/wire_fixture.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {
namespace {

std::string repeat(int n) {
  return std::string(static_cast<std::size_t>(n), 'x');
}

std::vector<char> zeros(int n) {
  return std::vector<char>(static_cast<std::size_t>(n));
}

/// Reads the results that a slot sends.
class Driver final : public wire::LinkHandler {
public:
  void on_message(wire::StreamId, Bytes message) override {
    Payload whole(std::move(message));
    Reader reader(whole.bytes());
    auto op = read_op(reader);
    ASSERT_TRUE(op == Op::results || op == Op::timed_results);
    frames.push_back(read_results(reader, whole, op == Op::timed_results));
  }
  void on_silence() override {}
  void on_closed(const wire::LinkEnd&) override {}
  std::vector<TaskResults> frames;
};

/// A slot whose results may have `most` bytes, and its driver.
class Bench {
public:
  explicit Bench(std::size_t most = max_value_bytes,
                 std::chrono::nanoseconds task_timeout = {}, bool timed = false)
    : slot({.slot = 0,
            .rank = 0,
            .link = links_.first,
            .page = nullptr,
            .request_flush = [this](auto) { ++flushes_requested; },
            .task_timeout = task_timeout,
            .timed = timed,
            .max_result_bytes = most}) {
    links_.second->start(driver);
  }

  /// Gives the slot one task for each of `arguments`.
  template <class R>
  void push(R (*f)(int), const std::vector<int>& arguments,
            std::chrono::microseconds hold = std::chrono::microseconds(500)) {
    auto callable = AnyCallable::of<int, false>(f);
    Bytes packed;
    Writer writer(packed);
    for (int argument : arguments)
      pack(writer, argument);
    slot.push({.slot = 0,
               .first_seq = 1,
               .call = 1,
               .first_index = 0,
               .attempt = 1,
               .hold_us = static_cast<std::uint32_t>(hold.count()),
               .lengths = std::vector<std::uint64_t>(arguments.size(), sizeof(int)),
               .arguments = Payload(std::move(packed))},
              std::make_shared<CallCode>(
                CallCode{1, false, callable.open(), {}, callable.state()}));
  }

private:
  std::pair<std::shared_ptr<wire::Link>, std::shared_ptr<wire::Link>> links_ =
    wire::loopback();

public:
  std::shared_ptr<Driver> driver = std::make_shared<Driver>();
  int flushes_requested = 0;
  SlotWorker slot;
};

/// Runs `f` with each of `arguments`, one task after the other.
template <class R>
std::vector<TaskResults> run(R (*f)(int), const std::vector<int>& arguments,
                             std::size_t most) {
  Bench bench(most);
  bench.push(f, arguments);
  while (bench.slot.step())
    ;
  return bench.driver->frames;
}

TEST(SlotWorker, a_result_that_is_too_large_to_be_sent_fails_its_task_alone) {
  auto frames = run(&repeat, {200, 50}, 100);
  ASSERT_EQ(frames.size(), 2U);
  ASSERT_EQ(frames[0].results.at(0).status, TaskResult::Status::failure);
  Reader reader(frames[0].bytes.bytes());
  EXPECT_EQ(read_failure(reader).what,
            "a value of 208 bytes is too large to be sent: at most 100 bytes can be");
  EXPECT_EQ(frames[1].results.at(0).status, TaskResult::Status::value);
}

TEST(SlotWorker, a_vector_result_that_is_too_large_fails_its_task_alone) {
  auto frames = run(&zeros, {200000, 50000}, 100000);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].results.at(0).status, TaskResult::Status::failure);
  EXPECT_EQ(frames[1].results.at(0).status, TaskResult::Status::value);
}

// Results of short tasks are gathered. The result of a long task would only wait, and its
// timer costs two wake-ups.
TEST(SlotWorker, the_result_of_a_long_task_is_sent_as_it_ends) {
  Bench bench;
  bench.push(
    +[](int ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      return ms;
    },
    {1, 1, 1});
  bench.slot.finish();
  bench.slot.run();
  EXPECT_EQ(bench.driver->frames.size(), 3U);
  EXPECT_EQ(bench.flushes_requested, 0);
}

int sleeps_us(int us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
  return us;
}

TEST(SlotWorker, results_are_gathered_for_longer_with_a_longer_hold_time) {
  Bench bench;
  bench.push(&sleeps_us, {1000, 1000, 1000}, std::chrono::hours(1));
  bench.slot.finish();
  bench.slot.run();
  EXPECT_EQ(bench.driver->frames.size(), 1U);
  EXPECT_EQ(bench.flushes_requested, 1) << "the next one might have been very long";
}

TEST(SlotWorker, a_frame_tells_the_time_of_its_longest_task) {
  auto frames = run(&sleeps_us, {0, 0, 0, 20'000}, max_value_bytes);
  std::uint64_t longest = 0;
  for (auto& frame : frames) {
    EXPECT_LE(frame.longest_ns, frame.busy_ns);
    EXPECT_TRUE(frame.times.empty()) << "nobody asked for them";
    longest = std::max(longest, frame.longest_ns);
  }
  EXPECT_GE(longest, 20'000'000U);
}

TEST(SlotWorker, timed_results_tell_when_their_tasks_ran) {
  Bench bench(max_value_bytes, {}, true);
  auto now = [] {
    return std::chrono::nanoseconds(SlotWorker::Clock::now().time_since_epoch()).count();
  };
  auto last = now();
  bench.push(&sleeps_us, {100, 100, 100});
  bench.slot.finish();
  bench.slot.run();
  std::size_t seen = 0;
  for (auto& frame : bench.driver->frames) {
    ASSERT_EQ(frame.times.size(), frame.results.size());
    for (auto& [began, ran] : frame.times) {
      EXPECT_GE(began, last);
      EXPECT_GE(ran, 100'000);
      last = began + ran;
      ++seen;
    }
  }
  EXPECT_EQ(seen, 3U);
  EXPECT_LE(last, now());
}

/// The second task asks for times, while the result of the first one waits.
int asks_for_times(int task) {
  if (task == 2)
    static_cast<SlotWorker*>(TaskContext::current()->host)->time_results(true);
  return task;
}

TEST(SlotWorker, all_results_of_a_frame_have_times_or_none) {
  Bench bench;
  bench.push(&asks_for_times, {1, 2, 3}, std::chrono::hours(1));
  bench.slot.finish();
  bench.slot.run();
  auto& frames = bench.driver->frames;
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].results.size(), 1U);
  EXPECT_TRUE(frames[0].times.empty());
  EXPECT_EQ(frames[1].results.size(), 2U);
  EXPECT_EQ(frames[1].times.size(), 2U);
}

/// Waits for a stop request, which comes from another thread.
bool awaits_stop(const std::stop_token& stop) {
  return wire::eventually([&] { return stop.stop_requested(); });
}

/// Returns whether the task saw a stop request before it was told to stop, and after.
int asks_late(int) {
  auto* host = TaskContext::current()->host;
  auto& slot = *static_cast<SlotWorker*>(host);
  auto early = host->stop_token();
  slot.stop(2); // Of another call.
  auto before = early.stop_requested();
  slot.stop(1);
  return (before ? 100 : 0) + (awaits_stop(early) ? 10 : 0) +
         (host->stop_token().stop_requested() ? 1 : 0);
}

TEST(SlotWorker, a_stop_reaches_the_running_task_and_not_the_next_one) {
  Bench bench;
  bench.push(&asks_late, {1, 2}, std::chrono::hours(1));
  bench.slot.finish();
  bench.slot.run();
  Reader reader(bench.driver->frames.at(0).bytes.bytes());
  EXPECT_EQ(unpack<int>(reader), 11);
  EXPECT_EQ(unpack<int>(reader), 11) << "it was not told before";
}

/// The first task stops the second, which waits, and then itself. Returns the stop
/// requests that it saw.
int stops_two(int i) {
  auto* host = TaskContext::current()->host;
  auto& slot = *static_cast<SlotWorker*>(host);
  auto stop = host->stop_token();
  if (i > 1)
    return i * 1000 + (stop.stop_requested() ? 1 : 0);
  slot.stop_task(2);
  slot.stop_task(4); // No slot has this task yet.
  auto before = stop.stop_requested();
  slot.stop_task(1);
  return (before ? 100 : 0) + (awaits_stop(stop) ? 10 : 0);
}

TEST(SlotWorker, a_waiting_task_that_is_stopped_does_not_begin) {
  Bench bench;
  bench.push(&stops_two, {1, 2, 3}, std::chrono::hours(1));
  bench.slot.finish();
  bench.slot.run();
  ASSERT_EQ(bench.driver->frames.size(), 1U);
  auto& frame = bench.driver->frames[0];
  ASSERT_EQ(frame.results.size(), 3U);
  Reader first(frame.bytes.bytes());
  EXPECT_EQ(unpack<int>(first), 10);
  ASSERT_EQ(frame.results[1].status, TaskResult::Status::failure);
  EXPECT_NE(read_failure(first).what.find("before it began"), std::string::npos);
  EXPECT_EQ(unpack<int>(first), 3000) << "it is told nothing";
}

int outlasts_the_limit(int) {
  auto* host = TaskContext::current()->host;
  auto& slot = *static_cast<SlotWorker*>(host);
  auto now = SlotWorker::Clock::now();
  EXPECT_FALSE(slot.check_deadline(now).overdue);
  auto check = slot.check_deadline(now + std::chrono::hours(1));
  EXPECT_EQ(check.overdue, 1U);
  EXPECT_TRUE(host->stop_token().stop_requested());
  EXPECT_FALSE(slot.check_deadline(now + std::chrono::hours(1)).overdue) << "told twice";
  return 1;
}

TEST(SlotWorker, an_overdue_task_has_no_result) {
  Bench bench(max_value_bytes, std::chrono::minutes(10));
  bench.push(&outlasts_the_limit, {1});
  EXPECT_TRUE(bench.slot.check_deadline(SlotWorker::Clock::now()).again);
  bench.slot.finish();
  bench.slot.run();
  EXPECT_EQ(bench.driver->frames.at(0).results.at(0).status, TaskResult::Status::overdue);
  EXPECT_FALSE(bench.slot.check_deadline(SlotWorker::Clock::now()).again)
    << "there is nothing to run";
}

} // namespace
} // namespace fiber::actors
