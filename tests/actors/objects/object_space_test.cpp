// SPDX-License-Identifier: Apache-2.0
// The promise: an object lives as long as any process holds it, and no longer; a request
// to a process that is gone is answered.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/protocol/node_protocol.hpp"
#include "tests/actors/objects/object_spaces.hpp"

namespace fiber::actors {
namespace {

TEST_F(ObjectSpaces, an_object_ends_with_its_last_handle) {
  for (std::uint64_t home : {0, 1}) {
    auto handle = queue_at(home);
    auto id = handle->held_id();
    auto elsewhere = at(2).hold(id);
    run();
    handle = nullptr;
    run();
    EXPECT_TRUE(lives(id));
    auto copy = at(3).hold(id);
    run();
    elsewhere = nullptr;
    run();
    EXPECT_TRUE(lives(id));
    copy = nullptr;
    run();
    EXPECT_FALSE(lives(id));
  }
}

TEST_F(ObjectSpaces, a_dead_process_holds_nothing) {
  for (std::uint64_t home : {0, 1}) {
    auto handle = queue_at(home);
    auto id = handle->held_id();
    auto elsewhere = at(2).hold(id);
    run();
    handle = nullptr;
    run();
    EXPECT_TRUE(lives(id));
    lose(2);
    EXPECT_FALSE(lives(id));
    reconnect(2);
  }
}

TEST_F(ObjectSpaces, a_handle_in_a_message_holds_until_the_receiver_does) {
  // Job 1 sends a queue of its own through a queue that lives in job 2, and drops it.
  auto way = queue_at(2);
  auto from_1 = at(1).hold(way->held_id());
  auto in_3 = at(3).hold(way->held_id());
  run();
  auto sent = queue_at(1);
  auto id = sent->held_id();
  auto put = ask(1, way->held_id(), AskKind::put, {sent});
  EXPECT_EQ((*put)->what, Answer::done);
  sent = nullptr;
  run();
  EXPECT_TRUE(lives(id));
  auto got = ask(3, way->held_id(), AskKind::get);
  auto request = last_request;
  EXPECT_EQ((*got)->what, Answer::value);
  run();
  EXPECT_TRUE(lives(id));
  auto received = at(3).hold(id);
  at(3).tell(way->held_id(), request, AskKind::took);
  run();
  EXPECT_TRUE(lives(id));
  received = nullptr;
  *got = {};
  run();
  EXPECT_FALSE(lives(id));
}

TEST_F(ObjectSpaces, a_handle_in_a_message_outlives_the_sender) {
  auto way = queue_at(2), sent = queue_at(3);
  auto id = sent->held_id();
  auto from_1 = at(1).hold(way->held_id()), only = at(1).hold(id);
  run();
  sent = nullptr;
  run();
  Bytes bytes;
  Writer(bytes).text("");
  at(1).ask(way->held_id(), AskKind::put, Payload(std::move(bytes)), {only},
            [](std::uint64_t, auto) {});
  pass_up(1);
  lose(1);
  EXPECT_TRUE(lives(id));
  auto got = ask(3, way->held_id(), AskKind::get);
  EXPECT_EQ((*got)->what, Answer::value);
  EXPECT_EQ((*got)->kept.size(), 1U);
  at(3).tell(way->held_id(), last_request, AskKind::took);
  run();
  EXPECT_TRUE(lives(id));
  *got = {};
  run();
  EXPECT_FALSE(lives(id));
}

TEST_F(ObjectSpaces, a_handle_in_an_answer_outlives_the_sender) {
  auto way = queue_at(2), sent = queue_at(3);
  auto id = sent->held_id();
  auto in_1 = at(1).hold(way->held_id());
  run();
  EXPECT_EQ((*ask(3, way->held_id(), AskKind::put, {sent}))->what, Answer::done);
  sent = nullptr;
  run();
  auto got = std::make_shared<std::optional<ObjectAnswer>>();
  at(1).ask(way->held_id(), AskKind::get, {}, {},
            [got](std::uint64_t, ObjectAnswer answer) { *got = std::move(answer); });
  pass_up(1);
  pass_down(2);
  pass_up(2);
  lose(2);
  ASSERT_TRUE(*got);
  EXPECT_EQ((*got)->what, Answer::value);
  EXPECT_TRUE(lives(id));
}

TEST_F(ObjectSpaces, a_handle_in_a_result_holds_until_the_driver_does) {
  auto made = queue_at(1);
  auto id = made->held_id();
  auto parcel = at(1).keep_until_received({made});
  EXPECT_NE(parcel, 0U);
  made = nullptr;
  run();
  auto kept = at(0).take_over(1, {id}, parcel);
  run();
  EXPECT_TRUE(lives(id));
  kept.clear();
  run();
  EXPECT_FALSE(lives(id));
}

TEST_F(ObjectSpaces, a_request_to_a_dead_process_is_answered) {
  auto queue = queue_at(1);
  auto id = queue->held_id();
  auto in_0 = at(0).hold(id), in_2 = at(2).hold(id);
  run();
  auto of_0 = ask(0, id, AskKind::get), of_2 = ask(2, id, AskKind::get);
  EXPECT_FALSE(*of_0);
  EXPECT_FALSE(*of_2);
  lose(1);
  EXPECT_EQ((*of_0)->what, Answer::closed);
  EXPECT_EQ((*of_2)->what, Answer::closed);
  EXPECT_EQ((*ask(2, id, AskKind::get))->what, Answer::closed);
  EXPECT_EQ((*ask(0, id, AskKind::get))->what, Answer::closed);
}

TEST_F(ObjectSpaces, an_item_that_a_dead_process_had_not_taken_returns) {
  for (std::uint64_t home : {0, 3}) {
    auto queue = queue_at(home);
    auto id = queue->held_id();
    auto in_2 = at(2).hold(id);
    run();
    EXPECT_EQ((*ask(0, id, AskKind::put))->what, Answer::done);
    auto lost = ask(1, id, AskKind::get);
    EXPECT_EQ((*lost)->what, Answer::value);
    auto next = ask(2, id, AskKind::get);
    EXPECT_FALSE(*next);
    lose(1);
    EXPECT_EQ((*next)->what, Answer::value);
    reconnect(1);
  }
}

TEST_F(ObjectSpaces, a_pipe_whose_other_end_nobody_holds_is_closed) {
  std::vector<std::shared_ptr<ObjectHandle>> ends;
  {
    auto first = queue_at(1); // A second object, so that numbers differ.
    ends = pipe_at(1);
  }
  auto id = ends[0]->held_id();
  auto waiting = ask(1, id, AskKind::get);
  EXPECT_FALSE(*waiting);
  ends[1] = nullptr;
  run();
  EXPECT_EQ((*waiting)->what, Answer::closed);
}

TEST_F(ObjectSpaces, a_message_to_itself_or_in_the_name_of_another_job_is_refused) {
  for (auto [to, from] : {std::pair{0, 2}, {1, 1}}) {
    ObjectMessage message;
    message.to = static_cast<std::uint64_t>(to);
    message.from = static_cast<std::uint64_t>(from);
    message.object = 1;
    Bytes bytes;
    Writer writer(bytes);
    write(writer, message);
    Payload whole(std::move(bytes));
    Reader reader(whole.bytes());
    auto op = read_op(reader);
    EXPECT_THROW(at(0).heard(1, op, reader, whole), Error) << to;
  }
}

TEST_F(ObjectSpaces, the_number_of_an_object_cannot_be_guessed_from_another) {
  std::set<std::uint64_t> numbers, high_halves;
  for (int i = 0; i < 1000; ++i) {
    auto number = secret_number();
    numbers.insert(number);
    high_halves.insert(number >> 32);
  }
  EXPECT_EQ(numbers.size(), 1000u);
  EXPECT_GT(high_halves.size(), 990u);
}

TEST_F(ObjectSpaces, a_request_to_a_number_that_is_no_objects_is_answered_closed) {
  auto queue = queue_at(0);
  auto unknown = queue->held_id();
  ++unknown.number;
  auto answer = ask(1, unknown, AskKind::get);
  run();
  ASSERT_TRUE(*answer);
  EXPECT_EQ((*answer)->what, Answer::closed);
}

TEST_F(ObjectSpaces, only_the_asked_process_can_answer) {
  auto queue = queue_at(1);
  auto in_0 = at(0).hold(queue->held_id());
  run();
  auto waiting = ask(0, queue->held_id(), AskKind::get);
  at(2).answer({0, last_request}, {Answer::closed});
  run();
  EXPECT_FALSE(*waiting);
}

TEST_F(ObjectSpaces, messages_of_a_job_that_was_declared_dead_are_ignored) {
  auto queue = queue_at(0);
  auto in_1 = at(1).hold(queue->held_id());
  run();
  at(0).disconnect(1); // Messages that job 1 has sent still arrive.
  auto size = [&] {
    auto answer = ask(0, queue->held_id(), AskKind::size);
    return Reader((**answer).body.bytes()).get<std::uint64_t>();
  };
  auto late_put = ask(1, queue->held_id(), AskKind::put);
  EXPECT_EQ(size(), 0U);
  EXPECT_EQ((*ask(0, queue->held_id(), AskKind::put))->what, Answer::done);
  auto late_get = ask(1, queue->held_id(), AskKind::get);
  EXPECT_EQ(size(), 1U);
  EXPECT_FALSE(*late_put);
  EXPECT_FALSE(*late_get);
}

TEST_F(ObjectSpaces, a_closed_space_answers_at_once) {
  auto queue = queue_at(0);
  auto waiting = ask(0, queue->held_id(), AskKind::get);
  at(0).close();
  EXPECT_EQ((*waiting)->what, Answer::closed);
  EXPECT_EQ((*ask(0, queue->held_id(), AskKind::get))->what, Answer::closed);
  EXPECT_EQ(at(0).hold(queue->held_id()), nullptr);
}

TEST_F(ObjectSpaces, a_job_that_holds_ever_more_invented_objects_is_cut_off) {
  auto hold = [&](std::uint64_t number) {
    Bytes bytes;
    Writer writer(bytes);
    writer.put(HeldId{.home = 2, .number = number});
    const Payload whole(std::move(bytes));
    Reader reader(whole.bytes());
    at(0).heard(1, Op::object_retain, reader, whole);
  };
  auto hold_many = [&] {
    for (std::uint64_t number = 1; number < 1'000'000; ++number)
      hold(number);
  };
  EXPECT_THROW(hold_many(), Error); // For which its link is closed.
  lose(1);
  hold(1'000'000); // Nothing, as it was cut off; and the driver lives.
}

} // namespace
} // namespace fiber::actors
