// SPDX-License-Identifier: Apache-2.0
// The promise: what is read is what was written, and malformed input is refused.

#include "actors/protocol/node_protocol.hpp"

#include <gtest/gtest.h>

using namespace fiber;
using namespace fiber::actors;

namespace {

Payload bytes_of(std::string_view text) {
  auto data = std::as_bytes(std::span(text));
  return Payload(Bytes(data.begin(), data.end()));
}

/// Returns a message of one operation. `rest` are the bytes that follow it.
template <class Message>
Payload message(const Message& op, const Payload& rest = {}) {
  Bytes bytes;
  Writer writer(bytes);
  write(writer, op);
  writer.raw(rest.bytes().data(), rest.size());
  return Payload(std::move(bytes));
}

RunTasks some_tasks() {
  RunTasks run;
  run.slot = 3;
  run.first_seq = 70;
  run.call = 5;
  run.first_index = 900;
  run.attempt = 2;
  run.lengths = {1, 0, 4};
  return run;
}

TaskResults some_results() {
  TaskResults results;
  results.slot = 2;
  results.first_seq = 41;
  results.busy_ns = 123;
  results.longest_ns = 100;
  Bytes bytes(3);
  Writer writer(bytes);
  write(writer, Failure{"T", "what", "1T", {}});
  results.results = {{TaskResult::Status::value, 3, 0},
                     {TaskResult::Status::failure, bytes.size() - 3, 0}};
  results.bytes = Payload(std::move(bytes));
  return results;
}

TEST(NodeProtocol, tasks_are_read_without_copying_their_arguments) {
  auto whole = message(some_tasks(), bytes_of("12345"));
  Reader reader(whole.bytes());
  ASSERT_EQ(read_op(reader), Op::run);
  auto run = read_run(reader, whole);
  EXPECT_EQ(run.slot, 3u);
  EXPECT_EQ(run.first_seq, 70u);
  EXPECT_EQ(run.call, 5u);
  EXPECT_EQ(run.first_index, 900u);
  EXPECT_EQ(run.attempt, 2u);
  EXPECT_EQ(run.lengths, (std::vector<std::uint64_t>{1, 0, 4}));
  EXPECT_EQ(run.arguments.bytes().data() + 5, whole.bytes().data() + whole.size());
  EXPECT_TRUE(reader.empty());
}

TEST(NodeProtocol, results_are_read_with_the_offset_of_each) {
  auto sent = some_results();
  auto whole = message(sent, sent.bytes);
  Reader reader(whole.bytes());
  ASSERT_EQ(read_op(reader), Op::results);
  auto results = read_results(reader, whole);
  EXPECT_EQ(results.slot, 2u);
  EXPECT_EQ(results.first_seq, 41u);
  EXPECT_EQ(results.busy_ns, 123u);
  EXPECT_EQ(results.longest_ns, 100u);
  EXPECT_TRUE(results.times.empty());
  ASSERT_EQ(results.results.size(), 2u);
  EXPECT_EQ(results.results[0].status, TaskResult::Status::value);
  EXPECT_EQ(results.results[1].status, TaskResult::Status::failure);
  EXPECT_EQ(results.results[1].offset, 3u);
  EXPECT_EQ(results.bytes.size(), sent.bytes.size());
}

TEST(NodeProtocol, results_carry_the_times_of_tasks_if_they_are_known) {
  auto sent = some_results();
  sent.times = {{1000, 100}, {-5, 23}};
  auto whole = message(sent, sent.bytes);
  Reader reader(whole.bytes());
  ASSERT_EQ(read_op(reader), Op::timed_results);
  auto results = read_results(reader, whole, true);
  ASSERT_EQ(results.times.size(), 2u);
  EXPECT_EQ(results.times[0].ran_ns, 100);
  EXPECT_EQ(results.times[1].began_ns, -5);
  EXPECT_EQ(results.bytes.size(), sent.bytes.size());
  EXPECT_TRUE(reader.empty());
  sent.times[1].began_ns = INT64_MIN; // There is no reckoning with that.
  auto absurd = message(sent, sent.bytes);
  Reader other(absurd.bytes());
  read_op(other);
  EXPECT_THROW(read_results(other, absurd, true), Error);
  for (std::size_t n = 1; n < whole.size(); ++n) {
    auto cut = whole.slice(0, n);
    Reader early(cut.bytes());
    read_op(early);
    EXPECT_THROW(read_results(early, cut, true), Error) << n;
  }
}

TEST(NodeProtocol, small_operations_follow_each_other_in_a_message) {
  Bytes bytes;
  Writer writer(bytes);
  write(writer, Op::probe);
  write(writer, Recall{4, 9});
  write(writer, StopTask{3, 1ull << 40});
  write(writer, HandedBack{4, 17, 21});
  write(writer, Op::close, 33);
  write(writer, Ready{8, 2, 77, "build"});
  write(writer, Failure{"T", "what", "1T", Bytes(3)});
  Reader reader(bytes);
  EXPECT_EQ(read_op(reader), Op::probe);
  ASSERT_EQ(read_op(reader), Op::recall);
  EXPECT_EQ(read_recall(reader).most, 9u);
  ASSERT_EQ(read_op(reader), Op::stop_task);
  auto stop = read_stop_task(reader);
  EXPECT_EQ(stop.slot, 3u);
  EXPECT_EQ(stop.seq, 1ull << 40);
  ASSERT_EQ(read_op(reader), Op::handed_back);
  auto back = read_handed_back(reader);
  EXPECT_EQ(back.slot, 4u);
  EXPECT_EQ(back.from_seq, 17u);
  EXPECT_EQ(back.to_seq, 21u);
  ASSERT_EQ(read_op(reader), Op::close);
  EXPECT_EQ(reader.get<std::uint64_t>(), 33u);
  ASSERT_EQ(read_op(reader), Op::ready);
  auto ready = read_ready(reader);
  EXPECT_EQ(ready.incarnation, 8u);
  EXPECT_EQ(ready.pid, 77);
  EXPECT_EQ(ready.build, "build");
  auto failure = read_failure(reader);
  EXPECT_EQ(failure.what, "what");
  EXPECT_EQ(failure.state.size(), 3u);
  EXPECT_TRUE(reader.empty());
}

TEST(NodeProtocol, a_truncated_message_is_refused) {
  auto sent = some_results();
  auto results = message(sent, sent.bytes);
  for (std::size_t n = 1; n < results.size(); ++n) {
    auto cut = results.slice(0, n);
    Reader reader(cut.bytes());
    read_op(reader);
    EXPECT_THROW(read_results(reader, cut), Error) << n;
  }
  auto run = message(some_tasks(), bytes_of("12345"));
  for (std::size_t n = 1; n < run.size(); ++n) {
    auto cut = run.slice(0, n);
    Reader reader(cut.bytes());
    read_op(reader);
    EXPECT_THROW(read_run(reader, cut), Error) << n;
  }
}

TEST(NodeProtocol, a_log_record_of_unknown_level_is_refused) {
  for (auto level : {6, 7, 255}) {
    auto whole = message(LogRecord{static_cast<std::uint8_t>(level), 0, 0, "text"});
    Reader reader(whole.bytes());
    ASSERT_EQ(read_op(reader), Op::log);
    EXPECT_THROW(read_log(reader), Error) << level;
  }
}

TEST(NodeProtocol, a_length_beyond_the_message_is_refused) {
  auto run = some_tasks();
  run.lengths = {1, UINT64_MAX, 1}; // Their sum would fit.
  auto whole = message(run, bytes_of("12345"));
  Reader reader(whole.bytes());
  read_op(reader);
  EXPECT_THROW(read_run(reader, whole), Error);
  auto results = some_results();
  results.results[1].length = UINT64_MAX - 2;
  auto again = message(results, results.bytes);
  Reader other(again.bytes());
  read_op(other);
  EXPECT_THROW(read_results(other, again), Error);
}

TEST(NodeProtocol, malformed_failures_and_empty_results_are_refused) {
  auto results = some_results();
  results.results = {{TaskResult::Status::failure, 3, 0}};
  auto whole = message(results, results.bytes);
  Reader reader(whole.bytes());
  read_op(reader);
  EXPECT_THROW(read_results(reader, whole), Error);
  results.results = {};
  auto again = message(results, results.bytes);
  Reader other(again.bytes());
  read_op(other);
  EXPECT_THROW(read_results(other, again), Error);
}

TEST(NodeProtocol, an_unknown_operation_is_refused) {
  Bytes bytes{std::byte{250}};
  Reader reader(bytes);
  EXPECT_THROW(read_op(reader), Error);
}

} // namespace
