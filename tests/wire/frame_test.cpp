// SPDX-License-Identifier: Apache-2.0
// The promise: bytes of a peer become messages or an error, and never cost more memory
// than has arrived.

#include "wire/frame.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/wire/receiver_fuzz.hpp"
#include "tests/wire/wire_fixture.hpp"
#include "wire/receiver.hpp"

namespace fiber::wire {
namespace {

struct CollectingSink final : ReceiverSink {
  bool message(StreamId, Bytes bytes) override {
    messages.push_back(std::move(bytes));
    return true;
  }
  bool credit(StreamId, std::uint32_t) override { return true; }
  bool window(std::uint32_t) override { return true; }
  void goodbye(std::string) override {}
  void grant(StreamId, std::uint32_t bytes) override { granted += bytes; }
  std::vector<Bytes> messages;
  std::size_t granted = 0;
};

/// Returns a piece of a message; `total` only if it is the first of several.
Bytes piece(StreamId stream, bool first, bool last, std::uint32_t length,
            std::uint64_t total = 0, const Bytes& payload = {}) {
  Bytes out(frame_header_bytes + (first && !last ? total_length_bytes : 0));
  encode({FrameType::message, first, last, stream, length}, out.data());
  if (first && !last)
    encode_total(total, out.data() + frame_header_bytes);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

struct FrameTest : testing::Test {
  /// Feeds all of `bytes`, at most `chunk` at a time. Returns the receiver's error.
  std::string feed(const Bytes& bytes, std::size_t chunk = 1 << 30) {
    for (std::size_t at = 0; at < bytes.size();) {
      std::size_t taken = 0;
      for (const auto space : receiver.space()) {
        const auto count =
          std::min({chunk - taken, space.size(), bytes.size() - at - taken});
        if (count > 0)
          std::memcpy(space.data(), bytes.data() + at + taken, count);
        taken += count;
      }
      if (!receiver.commit(taken))
        return receiver.error();
      at += taken;
    }
    return "";
  }

  CollectingSink sink;
  LinkOptions options{.message_limit = std::size_t{4} << 30};
  Receiver receiver{sink, options};
};

TEST_F(FrameTest, messages_arrive_however_the_bytes_are_cut) {
  Bytes bytes;
  const auto big = pattern(300'000);
  for (std::size_t at = 0; at < big.size(); at += 60'000) {
    const auto part = piece(7, at == 0, at + 60'000 == big.size(), 60'000, big.size(),
                            Bytes(big.begin() + at, big.begin() + at + 60'000));
    bytes.insert(bytes.end(), part.begin(), part.end());
    const auto small = piece(8, true, true, 5, 0, bytes_of("hello"));
    bytes.insert(bytes.end(), small.begin(), small.end());
  }
  for (const std::size_t chunk : {1, 7, 4096, 100'000, 1 << 20}) {
    sink.messages.clear();
    ASSERT_EQ(feed(bytes, chunk), "");
    ASSERT_EQ(sink.messages.size(), 6u);
    EXPECT_EQ(sink.messages[4], big) << "in chunks of " << chunk;
    EXPECT_EQ(text_of(sink.messages[5]), "hello");
  }
}

TEST_F(FrameTest, an_announced_length_costs_no_memory_before_the_bytes_come) {
  for (StreamId stream = 0; stream < 8; ++stream)
    ASSERT_EQ(feed(piece(stream, true, false, 1, std::uint64_t{4} << 30, Bytes(1))), "");
  EXPECT_LE(receiver.held_bytes(), std::size_t{8} << 20);
}

TEST_F(FrameTest, a_long_piece_costs_no_memory_before_its_bytes_come) {
  ASSERT_EQ(feed(piece(1, true, true, 4 << 20, 0, Bytes(1))), "");
  receiver.space(); // Lends the message's memory.
  EXPECT_LE(receiver.held_bytes(), std::size_t{1} << 20);
}

TEST_F(FrameTest, a_message_over_the_limit_is_refused_when_it_is_announced) {
  EXPECT_NE(feed(piece(1, true, false, 1, (std::uint64_t{4} << 30) + 1)), "");
}

TEST_F(FrameTest, credit_is_given_back_when_half_a_window_is_consumed) {
  const auto size = static_cast<std::uint32_t>(usable_window(options) / 4);
  ASSERT_EQ(feed(piece(1, true, true, size, 0, Bytes(size))), "");
  EXPECT_EQ(sink.granted, 0u);
  ASSERT_EQ(feed(piece(1, true, true, size, 0, Bytes(size))), "");
  EXPECT_EQ(sink.granted, 2 * (size + piece_cost));
}

TEST_F(FrameTest, a_piece_beyond_the_credit_is_refused) {
  const auto window = static_cast<std::uint32_t>(usable_window(options));
  EXPECT_EQ(feed(piece(1, true, true, window)), "credit overrun");
}

TEST_F(FrameTest, pieces_that_do_not_make_a_message_are_refused) {
  const std::vector<std::pair<const char*, Bytes>> cases = {
    {"goes on without a beginning", piece(1, false, true, 1)},
    {"is longer than announced", piece(1, true, false, 9, 8)},
    {"is whole but not marked so", piece(1, true, false, 8, 8)},
    {"is empty but not the message", piece(1, true, false, 0, 8)},
  };
  for (const auto& [name, bytes] : cases) {
    Receiver fresh(sink, options);
    const auto space = fresh.space();
    std::memcpy(space[0].data(), bytes.data(), bytes.size());
    EXPECT_FALSE(fresh.commit(bytes.size())) << "a piece that " << name;
    EXPECT_NE(fresh.error(), "");
  }
  ASSERT_EQ(feed(piece(1, true, false, 1, 8, Bytes(1))), "");
  EXPECT_NE(feed(piece(1, true, true, 1)), "") << "a message within a message";
}

TEST_F(FrameTest, a_header_that_no_link_writes_is_refused) {
  const auto header = [](int type, int flags, int reserved, StreamId stream,
                         std::uint32_t length) {
    Bytes out(frame_header_bytes);
    encode({static_cast<FrameType>(type), false, false, stream, length}, out.data());
    out[1] = static_cast<std::byte>(flags);
    out[2] = static_cast<std::byte>(reserved);
    return out;
  };
  const std::vector<Bytes> cases = {
    header(0, 0, 0, 0, 0), header(8, 0, 0, 0, 0),       header(255, 0, 0, 0, 0),
    header(1, 4, 0, 1, 1), header(1, 3, 1, 1, 1),       header(2, 0, 0, 1, 0),
    header(2, 1, 0, 1, 1), header(3, 0, 0, 1, 1 << 20), header(3, 0, 0, 0, 1),
    header(4, 0, 0, 1, 0), header(4, 0, 0, 0, 1),       header(5, 0, 0, 0, 1 << 20),
    header(6, 0, 0, 0, 1), header(7, 0, 0, 0, 1)};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Receiver fresh(sink, options);
    std::memcpy(fresh.space()[0].data(), cases[i].data(), cases[i].size());
    EXPECT_FALSE(fresh.commit(cases[i].size())) << "case " << i;
  }
}

TEST_F(FrameTest, garbage_and_damaged_frames_break_no_promise) {
  std::mt19937 random(1); // NOLINT: reproducible inputs.
  Bytes good;
  for (int i = 0; i < 20; ++i) {
    const auto one = piece(i % 3, true, true, 40, 0, Bytes(40));
    good.insert(good.end(), one.begin(), one.end());
    const auto begin = piece(10 + i, true, false, 5, 1 << 23, Bytes(5));
    good.insert(good.end(), begin.begin(), begin.end());
    append_control(good, FrameType::credit, i, 100);
    append_control(good, FrameType::heartbeat, 0, 0);
  }
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::uint8_t> input(1 + good.size());
    input[0] = static_cast<std::uint8_t>(random());
    std::memcpy(input.data() + 1, good.data(), good.size());
    for (int damage = 0; damage < round % 4; ++damage)
      input[1 + random() % good.size()] = static_cast<std::uint8_t>(random());
    if (round % 10 == 9)
      std::generate(input.begin(), input.end(), [&] { return random(); });
    input.resize(1 + random() % input.size());
    fuzz_receiver(input); // Aborts if it fails.
  }
}

} // namespace
} // namespace fiber::wire
