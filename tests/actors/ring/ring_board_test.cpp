// SPDX-License-Identifier: Apache-2.0
// The promise: members of a ring find each other in any order, and none leaves before all
// are done.
#include "actors/ring/ring_board.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "fiber/byte_stream.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {
namespace {

Payload payload(std::string_view text) {
  Bytes bytes;
  Writer writer(bytes);
  writer.raw(text.data(), text.size());
  return Payload(std::move(bytes));
}

std::string text(const Payload& payload) {
  return {reinterpret_cast<const char*>(payload.bytes().data()), payload.size()};
}

constexpr Asker first{1, 10}, second{2, 20}, third{3, 30};

class RingBoardTest : public testing::Test {
protected:
  RingBoard::Replies set(const Asker& who, const std::string& key,
                         std::string_view value) {
    return board_.handle(who, {RingOp::set, key, payload(value)});
  }
  RingBoard::Replies get(const Asker& who, const std::string& key) {
    return board_.handle(who, {RingOp::get, key, {}});
  }
  RingBoard::Replies leave(const Asker& who) {
    return board_.handle(who, {RingOp::leave, {}, {}});
  }

  RingBoard board_{3};
};

TEST_F(RingBoardTest, a_get_returns_the_value_that_was_set_before) {
  auto set_it = set(first, "0", "here");
  ASSERT_EQ(set_it.size(), 1U);
  EXPECT_EQ(set_it[0].to, first);
  EXPECT_EQ(set_it[0].what, Answer::done);
  auto got = get(second, "0");
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].to, second);
  EXPECT_EQ(got[0].what, Answer::value);
  EXPECT_EQ(text(got[0].value), "here");
}

TEST_F(RingBoardTest, a_get_waits_until_the_key_is_set) {
  EXPECT_TRUE(get(second, "0").empty());
  EXPECT_TRUE(get(third, "0").empty());
  EXPECT_TRUE(get(third, "1").empty());
  EXPECT_EQ(board_.waiting().size(), 3U);
  auto replies = set(first, "0", "here");
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[1].to, second);
  EXPECT_EQ(text(replies[1].value), "here");
  EXPECT_EQ(replies[2].to, third);
  EXPECT_EQ(board_.waiting(), std::vector<Asker>{third});
}

TEST_F(RingBoardTest, members_leave_together) {
  EXPECT_TRUE(leave(second).empty());
  EXPECT_TRUE(leave(first).empty());
  auto replies = leave(third);
  ASSERT_EQ(replies.size(), 3U);
  for (auto& each : replies)
    EXPECT_EQ(each.what, Answer::done);
  EXPECT_TRUE(board_.waiting().empty());
}

TEST_F(RingBoardTest, the_board_forgets_cancelled_requests_and_gone_members) {
  get(first, "x");
  leave(second);
  leave(third);
  auto replies = board_.cancel(first);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].what, Answer::cancelled);
  EXPECT_TRUE(board_.cancel(first).empty());
  board_.gone(second.process);
  EXPECT_EQ(board_.waiting(), std::vector<Asker>{third});
  EXPECT_TRUE(leave(first).empty()); // Two of three are there.
}

TEST_F(RingBoardTest, the_collectives_that_were_reported_last_are_known) {
  auto report = [&](std::uint64_t collectives) {
    Bytes count;
    Writer(count).put(collectives);
    return board_.handle(first, {RingOp::report, {}, Payload(std::move(count))});
  };
  ASSERT_EQ(report(7).size(), 1U);
  EXPECT_EQ(report(9)[0].what, Answer::done);
  EXPECT_EQ(board_.collectives(), 9U);
  EXPECT_THROW(board_.handle(first, {RingOp::report, {}, payload("few")}), Error);
  EXPECT_EQ(board_.collectives(), 9U);
}

TEST(RingRequest, a_ring_request_travels_as_bytes) {
  Bytes bytes;
  Writer writer(bytes);
  write(writer, {RingOp::set, "a key", payload("a value")});
  auto read = read_ring_request(Payload(std::move(bytes)));
  EXPECT_EQ(read.op, RingOp::set);
  EXPECT_EQ(read.key, "a key");
  EXPECT_EQ(text(read.value), "a value");
}

TEST(RingRequest, a_malformed_ring_request_is_refused) {
  EXPECT_THROW(read_ring_request({}), Error);
  EXPECT_THROW(read_ring_request(payload("\x04")), Error);
  EXPECT_THROW(read_ring_request(payload(std::string(9, '\x01'))), Error);
}

} // namespace
} // namespace fiber::actors
