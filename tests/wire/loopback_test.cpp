// SPDX-License-Identifier: Apache-2.0
// The promise: a link without a socket keeps the contract of one with a socket.

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/wire_fixture.hpp"
#include "wire/stream_link.hpp"

namespace fiber::wire {
namespace {

struct LoopbackTest : testing::Test {
  std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> ends = loopback();
  std::shared_ptr<Link> left = ends.first, right = ends.second;
  std::shared_ptr<Recorder> at_left = std::make_shared<Recorder>(),
                            at_right = std::make_shared<Recorder>();
};

TEST_F(LoopbackTest, the_sending_thread_delivers) {
  std::thread::id deliverer;
  right->start(std::make_shared<OnMessage>(
    [&](StreamId, const Bytes&) { deliverer = std::this_thread::get_id(); }));
  left->send(1, bytes_of("x"));
  EXPECT_EQ(deliverer, std::this_thread::get_id());
}

TEST_F(LoopbackTest, head_and_body_are_one_message) {
  right->start(at_right);
  left->send(3, bytes_of("head "), Payload(bytes_of("body")));
  ASSERT_EQ(at_right->count(), 1u);
  EXPECT_EQ(text_of(at_right->messages()[0].bytes), "head body");
  EXPECT_EQ(at_right->messages()[0].stream, 3u);
}

TEST_F(LoopbackTest, messages_before_start_are_delivered_at_start) {
  left->send(1, bytes_of("early"));
  EXPECT_EQ(left->backlog(), 5u);
  EXPECT_FALSE(left->flush(1ms));
  right->start(at_right);
  EXPECT_EQ(at_right->count(), 1u);
  EXPECT_EQ(left->backlog(), 0u);
  EXPECT_TRUE(left->flush(1ms));
}

TEST_F(LoopbackTest, handlers_that_answer_each_other_neither_recurse_nor_overlap) {
  int left_count = 0, depth = 0, deepest = 0;
  const auto answer = [&](Link& link, int& count) {
    return [&](StreamId stream, Bytes message) {
      deepest = std::max(deepest, ++depth);
      if (++count < 100'000)
        link.send(stream, std::move(message));
      --depth;
    };
  };
  int right_count = 0;
  left->start(std::make_shared<OnMessage>(answer(*left, left_count)));
  right->start(std::make_shared<OnMessage>(answer(*right, right_count)));
  left->send(1, bytes_of("ball"));
  EXPECT_EQ(left_count + right_count, 199'999);
  EXPECT_LE(deepest, 2);
}

TEST_F(LoopbackTest, threads_that_send_at_once_do_not_overlap_in_the_handler) {
  std::atomic<int> inside = 0, overlaps = 0, count = 0;
  right->start(std::make_shared<OnMessage>([&](StreamId, const Bytes&) {
    overlaps += inside++ > 0;
    ++count;
    --inside;
  }));
  std::vector<std::jthread> threads;
  for (StreamId stream = 0; stream < 4; ++stream)
    threads.emplace_back([&, stream] {
      for (int i = 0; i < 5000; ++i)
        left->send(stream, Bytes(8));
    });
  threads.clear();
  EXPECT_TRUE(eventually([&] { return count == 20'000; }));
  EXPECT_EQ(overlaps, 0);
}

TEST_F(LoopbackTest, close_is_reported_once_at_both_ends_after_earlier_messages) {
  left->start(at_left);
  left->send(1, bytes_of("last words"));
  left->close();
  left->close();
  right->start(at_right);
  EXPECT_EQ(at_right->count(), 1u);
  EXPECT_EQ(at_right->closed(), 1);
  EXPECT_EQ(at_left->closed(), 1);
  EXPECT_FALSE(at_right->after_end());
  EXPECT_FALSE(left->send(1, {}));
  EXPECT_FALSE(right->send(1, {}));
}

TEST_F(LoopbackTest, dropping_an_end_closes_it) {
  right->start(at_right);
  ends = {};
  left.reset();
  EXPECT_EQ(at_right->closed(), 1);
}

} // namespace
} // namespace fiber::wire
