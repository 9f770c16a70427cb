// SPDX-License-Identifier: Apache-2.0
// The promise: every event is written, or counted as left out, within bounded memory; the
// clock of another machine can't move a task to a time when it did not run.

#include "actors/trace/trace.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/pool/pool_trace.hpp"
#include "actors/trace/clock_offset.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;

class TraceTest : public testing::Test {
protected:
  ~TraceTest() override { std::filesystem::remove(path); }

  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  /// Returns the runs in the file by task index.
  std::map<std::uint64_t, nlohmann::json> runs() const {
    std::map<std::uint64_t, nlohmann::json> found;
    for (auto& event : nlohmann::json::parse(text()))
      if (event.at("ph") == "X")
        found[event.at("args").at("index")] = event;
    return found;
  }

  const std::string path =
    testing::TempDir() + "fiber_trace_unit." + std::to_string(getpid());
};

TraceSpan run_of(std::uint64_t index) {
  TraceSpan span;
  span.kind = TraceSpan::Kind::run;
  span.pool = 1;
  span.first = index;
  span.queued_at = span.sent_at = span.from = Trace::Clock::now();
  span.to = span.returned_at = span.from + 1500ns;
  return span;
}

// Adds many times the limit of what may wait to be written.
TEST_F(TraceTest, events_beyond_the_memory_limit_are_written_or_counted) {
  constexpr std::size_t each = 200'000;
  {
    Trace trace(path);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 2; ++t)
      threads.emplace_back([&trace, t] {
        for (std::size_t i = 0; i < each; ++i)
          trace.add(run_of(t * each + i));
      });
    for (auto& thread : threads)
      thread.join();
  }
  std::istringstream lines(text());
  std::size_t written = 0, left_out = 0;
  for (std::string line; std::getline(lines, line);) {
    written += line.find(R"("ph":"X")") != line.npos ? 1 : 0;
    if (line.find("fiber_left_out") != line.npos)
      left_out = nlohmann::json::parse(line).at("args").at("events");
  }
  EXPECT_EQ(written + left_out, 2 * each);
  EXPECT_GE(written, 65536u); // So many may wait, however slow the thread that writes is.
}

TEST_F(TraceTest, times_are_microseconds_with_three_decimals) {
  Trace trace(path);
  trace.add(run_of(4));
  trace.close();
  trace.add(run_of(5)); // Too late: it is left out.
  auto found = runs();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at(4).at("dur"), 1.5);
  EXPECT_EQ(found.at(4).at("name"), "task 4");
  EXPECT_TRUE(text().ends_with("]\n"));
}

TEST_F(TraceTest, text_from_a_cluster_may_be_any_bytes) {
  Trace trace(path);
  trace.add_instant(1, 0, "worker lost", {{"reason", "\"quoted\" \xff\n"}});
  trace.close();
  EXPECT_EQ(nlohmann::json::parse(text()).size(), 2u);
}

TEST_F(TraceTest, a_file_that_another_driver_writes_to_is_left_alone) {
  Trace trace(path);
  trace.add(run_of(1));
  EXPECT_THROW(Trace{path}, TraceTaken);
  trace.close();
  EXPECT_EQ(runs().size(), 1u);
  Trace next(path); // Now nobody does.
  next.close();
  EXPECT_EQ(runs().size(), 0u);
}

TEST_F(TraceTest, a_pipe_is_refused_without_blocking) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THROW(Trace{path}, std::system_error);
}

class PoolTraceTest : public TraceTest {
protected:
  PoolTraceTest() {
    auto call = std::make_shared<Call>();
    call->id = 1;
    auto batch = std::make_shared<TaskBatch>();
    batch->call = call;
    batch->ends = {0, 0, 0};
    tasks.batch = batch;
    tasks.to = 3;
  }
  /// The three tasks go to worker 0, run at these times by its job's clock, and return.
  void run(const std::vector<TaskTime>& times) {
    auto file = std::make_shared<Trace>(path);
    PoolTrace trace(file, 1, "pool1", false);
    PoolTrace::queue(tasks);
    trace.send(0, tasks);
    TaskResults results;
    results.results.resize(3);
    results.times = times;
    auto rest = tasks;
    for (std::size_t i = 0; i < 3; ++i)
      trace.take(0, rest.split(1), results, i);
    file->close();
  }
  void expect_nested() const {
    auto found = runs();
    ASSERT_EQ(found.size(), 3u);
    double free_since = 0;
    for (auto& [index, run] : found) {
      auto began = run.at("ts").get<double>();
      auto ended = began + run.at("dur").get<double>();
      auto& args = run.at("args");
      EXPECT_LE(args.at("queued").get<double>(), args.at("sent").get<double>());
      EXPECT_LE(args.at("sent").get<double>(), began + 0.0015);
      EXPECT_LE(ended, args.at("returned").get<double>() + 0.0015);
      EXPECT_LE(free_since, began + 0.0015);
      free_since = ended;
    }
  }

  TaskRange tasks;
};

constexpr std::int64_t an_hour_ns = 3'600'000'000'000;

TEST_F(PoolTraceTest, a_clock_that_is_ahead_puts_no_task_after_its_result) {
  auto now = std::chrono::nanoseconds(Trace::Clock::now().time_since_epoch()).count();
  run({{now + an_hour_ns, 10}, {now + 2 * an_hour_ns, 10}, {INT64_MAX, INT64_MAX}});
  expect_nested();
}

TEST_F(PoolTraceTest, a_clock_that_is_behind_puts_no_task_before_it_was_sent) {
  run({{0, 10}, {0, an_hour_ns}, {INT64_MIN, -5}});
  expect_nested();
}

TEST(ClockOffset, the_error_is_at_most_half_of_the_quickest_round_trip) {
  ClockOffset offset;
  ClockOffset::Time start(1h);
  offset.asked(start);
  offset.answered(5h + 700us, start + 1ms);
  EXPECT_EQ(offset.value(), 4h + 200us);
  offset.asked(start + 1s);
  offset.answered(5h + 1s + 40us, start + 1s + 100us);
  EXPECT_EQ(offset.value(), 4h - 10us);
  offset.asked(start + 2s);
  offset.answered(9h, start + 3s); // A longer round trip does not count.
  EXPECT_EQ(offset.value(), 4h - 10us);
}

TEST(ClockOffset, an_answer_after_the_next_probe_does_no_harm) {
  ClockOffset offset;
  ClockOffset::Time start(1h);
  offset.asked(start);
  offset.asked(start + 10s);
  offset.answered(5h + 9s, start + 10s + 1us); // Answers the first probe.
  offset.answered(5h + 10s + 40us, start + 10s + 100us);
  EXPECT_EQ(offset.value(), 4h - 10us);
  offset.answered(9h, start + 10s + 101us); // Answers no probe.
  EXPECT_EQ(offset.value(), 4h - 10us);
}

TEST(ClockOffset, the_offset_on_one_machine_is_zero) {
  ClockOffset offset;
  ClockOffset::Time start(1h);
  offset.asked(start);
  offset.answered(start.time_since_epoch() + 90us, start + 100us);
  EXPECT_EQ(offset.value(), 0ns);
}

} // namespace
} // namespace fiber::actors
