// SPDX-License-Identifier: Apache-2.0
// The promise: an object lives as long as anybody holds it, in whatever process, and no
// longer; who asks something of a process that is gone is told so.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/protocol/node_protocol.hpp"
#include "tests/actors/objects/object_spaces.hpp"

namespace fiber::actors {
namespace {

TEST_F(ObjectSpaces, end_an_object_with_its_last_handle) {
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

TEST_F(ObjectSpaces, count_those_who_die_as_holders_no_more) {
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

TEST_F(ObjectSpaces, keep_what_is_in_a_message_until_its_receiver_holds_it) {
  // 1 sends a queue of its own, and drops it, through a queue that lives in 2.
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

TEST_F(ObjectSpaces, keep_what_is_in_a_message_whose_sender_dies_on_its_way) {
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

TEST_F(ObjectSpaces, keep_what_is_in_an_answer_whose_sender_dies_on_its_way) {
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

TEST_F(ObjectSpaces, keep_what_is_in_a_result_until_the_driver_holds_it) {
  auto made = queue_at(1);
  auto id = made->held_id();
  auto parcel = at(1).park({made});
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

TEST_F(ObjectSpaces, answer_those_who_ask_a_process_that_is_gone) {
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

TEST_F(ObjectSpaces, give_back_what_a_dead_process_had_not_taken_over) {
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

TEST_F(ObjectSpaces, close_a_pipe_whose_other_end_nobody_holds) {
  std::vector<std::shared_ptr<ObjectHandle>> ends;
  {
    auto first = queue_at(1); // Another object, so that numbers differ.
    ends = pipe_at(1);
  }
  auto id = ends[0]->held_id();
  auto waiting = ask(1, id, AskKind::get);
  EXPECT_FALSE(*waiting);
  ends[1] = nullptr;
  run();
  EXPECT_EQ((*waiting)->what, Answer::closed);
}

TEST_F(ObjectSpaces, refuse_a_job_that_speaks_for_another_one_or_to_itself) {
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

TEST_F(ObjectSpaces, take_an_answer_from_nobody_but_who_was_asked) {
  auto queue = queue_at(1);
  auto in_0 = at(0).hold(queue->held_id());
  run();
  auto waiting = ask(0, queue->held_id(), AskKind::get);
  at(2).answer({0, last_request}, {Answer::closed});
  run();
  EXPECT_FALSE(*waiting);
}

TEST_F(ObjectSpaces, hear_nothing_of_a_job_that_was_declared_dead) {
  auto queue = queue_at(0);
  auto in_1 = at(1).hold(queue->held_id());
  run();
  at(0).disconnect(1); // And what it has sent comes all the same.
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

TEST_F(ObjectSpaces, answer_at_once_when_they_are_closed) {
  auto queue = queue_at(0);
  auto waiting = ask(0, queue->held_id(), AskKind::get);
  at(0).close();
  EXPECT_EQ((*waiting)->what, Answer::closed);
  EXPECT_EQ((*ask(0, queue->held_id(), AskKind::get))->what, Answer::closed);
  EXPECT_EQ(at(0).hold(queue->held_id()), nullptr);
}

} // namespace
} // namespace fiber::actors
