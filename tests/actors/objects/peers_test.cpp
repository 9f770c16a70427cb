// SPDX-License-Identifier: Apache-2.0
// The promise: that two jobs have a link of their own changes nothing of what holds of
// objects, whatever is overtaken by what.
#include "actors/objects/peers.hpp"

#include <utility>

#include <gtest/gtest.h>

#include "actors/protocol/node_protocol.hpp"
#include "tests/actors/objects/object_spaces.hpp"

namespace fiber::actors {
namespace {

class LinkedSpaces : public ObjectSpaces {};

TEST_F(LinkedSpaces, send_directly_where_there_is_a_link_and_again_if_it_is_cut) {
  auto queue = queue_at(1);
  auto id = queue->held_id();
  auto in_2 = at(2).hold(id);
  run();
  link(2, 1);
  auto before = at(0).passed_on().messages;
  EXPECT_EQ((*ask(2, id, AskKind::put))->what, Answer::done);
  EXPECT_EQ(at(0).passed_on().messages, before);
  held_up_ = true;
  auto second = ask(2, id, AskKind::put), size = ask(2, id, AskKind::size);
  EXPECT_FALSE(*second);
  cut(2, 1);
  EXPECT_EQ((*second)->what, Answer::done);
  EXPECT_EQ(Reader((**size).body.bytes()).get<std::uint64_t>(), 2U);
  EXPECT_GT(at(0).passed_on().messages, before);
}

TEST_F(LinkedSpaces, wait_for_no_message_for_which_there_was_no_memory) {
  auto queue = queue_at(1);
  auto id = queue->held_id();
  auto in_2 = at(2).hold(id);
  run();
  link(2, 1);
  wire(2, 1).fails = true;
  auto first = ask(2, id, AskKind::put);
  EXPECT_FALSE(*first);
  EXPECT_TRUE(wire(2, 1).closed);
  cut(2, 1);
  EXPECT_EQ((*first)->what, Answer::done);
  wire(2, 0).fails = true;
  EXPECT_THROW(ask(2, id, AskKind::put), std::bad_alloc);
  EXPECT_EQ((*ask(2, id, AskKind::put))->what, Answer::done);
  auto size = ask(2, id, AskKind::size);
  EXPECT_EQ(Reader((**size).body.bytes()).get<std::uint64_t>(), 2U);
}

TEST_F(LinkedSpaces, keep_the_order_of_what_goes_both_ways) {
  auto queue = queue_at(1), sent = queue_at(2);
  auto id = queue->held_id();
  auto in_2 = at(2).hold(id);
  run();
  link(2, 1);
  held_up_ = true;
  auto first = ask(2, id, AskKind::put);
  auto second = ask(2, id, AskKind::put, {sent}); // By way of the driver, so it is there.
  EXPECT_FALSE(*second);
  held_up_ = false;
  run();
  EXPECT_EQ((*second)->what, Answer::done);
  EXPECT_EQ((*ask(3, id, AskKind::get))->kept.size(), 0U);
  EXPECT_EQ((*ask(3, id, AskKind::get))->kept.size(), 1U);
}

TEST_F(LinkedSpaces, keep_what_is_in_a_message_whose_answer_goes_directly) {
  // 2 sends its only handle, and all that is said of that comes earlier than it does now.
  auto way = queue_at(1), sent = queue_at(3);
  auto id = sent->held_id();
  auto in_2 = at(2).hold(way->held_id()), only = at(2).hold(id);
  auto in_3 = at(3).hold(way->held_id());
  run();
  sent = nullptr;
  run();
  link(2, 1);
  link(3, 1);
  auto put = ask(2, way->held_id(), AskKind::put, {only});
  EXPECT_EQ((*put)->what, Answer::done);
  only = nullptr;
  run();
  EXPECT_TRUE(lives(id));
  auto got = ask(3, way->held_id(), AskKind::get);
  ASSERT_EQ((*got)->kept.size(), 1U);
  at(3).tell(way->held_id(), last_request, AskKind::took);
  run();
  EXPECT_TRUE(lives(id));
  *got = {};
  run();
  EXPECT_FALSE(lives(id));
}

TEST_F(LinkedSpaces, keep_an_object_until_what_was_sent_to_it_directly_has_arrived) {
  auto ends = pipe_at(1);
  auto first = ends[0]->held_id(), second = ends[1]->held_id();
  auto in_2 = at(2).hold(second);
  run();
  ends[1] = nullptr;
  run();
  link(2, 1);
  held_up_ = true;
  auto put = ask(2, second, AskKind::put);
  in_2 = nullptr; // By way of the driver: earlier, if nobody took care.
  run();
  EXPECT_FALSE(*put);
  held_up_ = false;
  run();
  EXPECT_EQ((*ask(1, first, AskKind::get))->what, Answer::value);
  at(1).tell(first, last_request, AskKind::took);
  EXPECT_EQ((*ask(1, first, AskKind::get))->what, Answer::closed);
}

TEST_F(LinkedSpaces, hear_what_a_dead_process_had_sent_directly_before_they_believe_it) {
  auto ends = pipe_at(1);
  auto first = ends[0]->held_id(), second = ends[1]->held_id();
  auto in_2 = at(2).hold(second);
  run();
  ends[1] = nullptr;
  EXPECT_EQ((*ask(2, second, AskKind::size))->what, Answer::value); // By the driver.
  link(2, 1);
  held_up_ = true;
  ask(2, second, AskKind::put);
  lose(2);
  EXPECT_TRUE(at(1).peers().dying());
  pass_directly(2, 1);
  end_of(2, 1);
  EXPECT_FALSE(at(1).peers().dying());
  EXPECT_EQ((*ask(1, first, AskKind::get))->what, Answer::value);
  at(1).tell(first, last_request, AskKind::took);
  EXPECT_EQ((*ask(1, first, AskKind::get))->what, Answer::closed);
}

TEST_F(LinkedSpaces, let_go_of_what_came_before_what_is_lost_with_its_sender) {
  auto queue = queue_at(1), sent = queue_at(3);
  auto id = queue->held_id(), inside = sent->held_id();
  auto in_2 = at(2).hold(id), only = at(2).hold(inside);
  run();
  sent = nullptr;
  run();
  link(2, 1);
  held_up_ = true;
  ask(2, id, AskKind::put);         // Is lost,
  ask(2, id, AskKind::put, {only}); // and this is behind it.
  EXPECT_TRUE(lives(inside));
  lose(2);
  EXPECT_TRUE(lives(inside));
  end_of(2, 1);
  EXPECT_FALSE(lives(inside));
}

TEST_F(LinkedSpaces, hear_nothing_of_one_that_the_driver_has_given_up) {
  auto queue = queue_at(1);
  auto id = queue->held_id();
  auto in_2 = at(2).hold(id);
  EXPECT_EQ((*ask(2, id, AskKind::put))->what, Answer::done);
  lose(2);
  link(2, 1); // It is only cut off from the driver.
  EXPECT_FALSE(at(1).peers().linked(2));
  ask(2, id, AskKind::put);
  EXPECT_EQ(Reader((**ask(0, id, AskKind::size)).body.bytes()).get<std::uint64_t>(), 1U);
}

TEST_F(LinkedSpaces, close_a_link_that_brings_what_must_not_come_that_way) {
  auto queue = queue_at(1), sent = queue_at(2);
  auto id = queue->held_id();
  auto in_2 = at(2).hold(id);
  run();
  link(2, 1);
  for (auto handles : {false, true}) {
    ObjectMessage message;
    message.to = 1;
    message.from = handles ? 2 : 3;
    message.object = id.number;
    message.sequence = 1;
    if (handles)
      message.held = {sent->held_id()};
    Bytes bytes;
    Writer writer(bytes);
    write(writer, message);
    at(1).heard_peer(2, 2, Payload(std::move(bytes)));
    run();
  }
  EXPECT_EQ(Reader((**ask(0, id, AskKind::size)).body.bytes()).get<std::uint64_t>(), 0U);
  EXPECT_EQ((*ask(2, id, AskKind::put))->what, Answer::done);
}

} // namespace
} // namespace fiber::actors
