// SPDX-License-Identifier: Apache-2.0
// The promise: messages arrive complete, once and in order; small ones overtake big ones;
// memory is bounded; and the end of the peer loses nothing that it had sent.

#include "wire/stream_link.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/wire_fixture.hpp"
#include "wire/frame.hpp"
#include "wire/reactor.hpp"
#include "wire/transport.hpp"

namespace fiber::wire {
namespace {

constexpr std::size_t megabyte = 1024 * 1024;

struct StreamLinkTest : testing::Test {
  void connect(LinkOptions left_options = {}, LinkOptions right_options = {}) {
    auto [a, b] = socket_pair();
    left = adopt(reactor, std::move(a), left_options);
    right = adopt(peer_reactor, std::move(b), right_options);
  }
  void start() {
    left->start(at_left);
    right->start(at_right);
  }
  /// A link on the left, a bare socket on the right.
  UniqueFd connect_raw(LinkOptions options = {}) {
    auto [a, b] = socket_pair();
    left = adopt(reactor, std::move(a), options);
    return std::move(b);
  }
  static void write_raw(const UniqueFd& fd, const Bytes& bytes) {
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  static Bytes message_frame(const Bytes& payload) {
    Bytes out(frame_header_bytes);
    encode(
      {FrameType::message, true, true, 1, static_cast<std::uint32_t>(payload.size())},
      out.data());
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
  }
  static Bytes heartbeat() {
    Bytes out;
    append_control(out, FrameType::heartbeat, 0, 0);
    return out;
  }

  std::shared_ptr<Recorder> at_left = std::make_shared<Recorder>(),
                            at_right = std::make_shared<Recorder>();
  Reactor reactor, peer_reactor;
  std::shared_ptr<Link> left, right;
};

TEST_F(StreamLinkTest, messages_of_a_stream_arrive_in_order_whatever_their_size) {
  connect();
  start();
  std::vector<Bytes> sent;
  for (const std::size_t size : {0ul, 1ul, 16ul, 1000ul, 1024ul, 1025ul, 65'535ul,
                                 65'536ul, 65'537ul, megabyte, 3ul})
    sent.push_back(pattern(size));
  for (int round = 0; round < 5; ++round)
    for (const auto& bytes : sent) {
      const auto cut = static_cast<std::ptrdiff_t>(bytes.size() / 3);
      EXPECT_TRUE(left->send(7, Bytes(bytes.begin(), bytes.begin() + cut),
                             Payload(Bytes(bytes.begin() + cut, bytes.end()))));
    }
  ASSERT_TRUE(eventually([&] { return at_right->count() == 5 * sent.size(); }));
  const auto got = at_right->messages();
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].stream, 7u);
    EXPECT_TRUE(got[i].bytes == sent[i % sent.size()]) << "message " << i;
  }
  EXPECT_EQ(left->stats().messages_sent, got.size());
  EXPECT_EQ(right->stats().messages_received, got.size());
}

TEST_F(StreamLinkTest, appended_parts_keep_their_order_and_go_out_by_themselves) {
  connect();
  start();
  constexpr int parts = 20000;
  std::vector<std::string> sent; // Head and part of each.
  for (int i = 0; i < parts; ++i) {
    auto head = bytes_of(i % 1000 < 800 ? "a" : "b");
    auto part = bytes_of(std::to_string(i) + " ");
    if (i % 500 == 499) {
      sent.push_back("s" + text_of(part));
      EXPECT_TRUE(left->send(1, bytes_of(sent.back())));
    } else {
      sent.push_back(text_of(head) + text_of(part));
      EXPECT_TRUE(left->append(1, head, part));
    }
  }
  auto got = [&] {
    std::vector<std::string> all;
    for (auto& message : at_right->messages()) {
      auto text = text_of(message.bytes);
      for (std::size_t from = 1; from < text.size();) {
        auto to = text.find(' ', from) + 1;
        all.push_back(text.front() + text.substr(from, to - from));
        from = to;
      }
    }
    return all;
  };
  ASSERT_TRUE(eventually([&] { return got().size() == parts; }));
  EXPECT_TRUE(got() == sent);
  EXPECT_LT(at_right->count(), static_cast<std::size_t>(parts / 2));
  EXPECT_EQ(left->stats().messages_sent, at_right->count());
}

TEST_F(StreamLinkTest, a_message_of_100_megabytes_arrives) {
  connect();
  start();
  const auto big = pattern(100 * megabyte);
  left->send(1, {}, Payload(big));
  ASSERT_TRUE(eventually([&] { return at_right->count() == 1; }));
  EXPECT_TRUE(at_right->messages()[0].bytes == big);
  EXPECT_TRUE(left->flush(60s));
  EXPECT_EQ(left->backlog(), 0u);
}

TEST_F(StreamLinkTest, a_big_message_arrives_without_later_traffic) {
  LinkOptions quiet;
  quiet.heartbeat_interval = 1h; // No later bytes that could push the rest out.
  quiet.silence_limit = 4h;
  connect(quiet, quiet);
  start();
  for (std::size_t i = 1; i <= 20; ++i) {
    left->send(1, {}, Payload(pattern(megabyte + i * 4567)));
    ASSERT_TRUE(eventually([&] { return at_right->count() == i; }, 20s)) << i;
  }
}

TEST_F(StreamLinkTest, a_small_message_passes_a_big_one) {
  connect();
  // Nothing is read yet, so the big message cannot have left before the small one is
  // sent.
  left->send(1, {}, Payload(pattern(64 * megabyte)));
  left->send(2, bytes_of("small"));
  start();
  ASSERT_TRUE(eventually([&] { return at_right->count() == 2; }));
  EXPECT_EQ(at_right->messages()[0].stream, 2u);
  EXPECT_TRUE(at_right->messages()[1].bytes == pattern(64 * megabyte));
}

TEST_F(StreamLinkTest, big_messages_of_different_streams_take_turns) {
  connect();
  for (StreamId stream = 1; stream <= 3; ++stream)
    left->send(stream, {}, Payload(pattern(8 * megabyte)));
  for (StreamId stream = 1; stream <= 3; ++stream)
    left->send(stream, bytes_of("second"));
  start();
  ASSERT_TRUE(eventually([&] { return at_right->count() == 6; }));
  // Sent one after another, a stream's second message would precede the next stream's
  // first.
  const auto got = at_right->messages();
  std::size_t first_small = 0, last_big = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].bytes.size() > 6)
      last_big = i;
    else if (first_small == 0)
      first_small = i;
  }
  EXPECT_GE(first_small, 1u);
  EXPECT_LE(last_big, 4u);
}

TEST_F(StreamLinkTest, bytes_beyond_the_credit_wait_at_the_sender) {
  const LinkOptions options{.piece_bytes = 4096, .window_bytes = 128 * 1024};
  connect(options, options);
  std::mutex gate;
  std::unique_lock closed(gate);
  std::atomic<int> got = 0;
  right->start(std::make_shared<OnMessage>([&](StreamId, const Bytes&) {
    const std::lock_guard wait(gate); // The first message blocks the handler.
    ++got;
  }));
  left->start(at_left);
  constexpr std::size_t count = 1000, size = 4000;
  for (std::size_t i = 0; i < count; ++i)
    left->send(1, {}, Payload(Bytes(size)));
  for (int i = 0; i < 50; ++i) {
    EXPECT_GE(left->backlog(), count * size - options.window_bytes);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(left->flush(10ms));
  closed.unlock();
  EXPECT_TRUE(eventually([&] { return got == count; }));
  EXPECT_TRUE(left->flush(60s));
}

TEST_F(StreamLinkTest, a_stream_without_credit_does_not_hold_up_another) {
  connect();
  left->send(1, {}, Payload(Bytes(megabyte))); // More than the initial credit.
  left->send(2, bytes_of("passes"));
  EXPECT_GT(left->backlog(), 0u);
  auto [a, b] = socket_pair();
  start();
  EXPECT_TRUE(eventually([&] { return at_right->count() == 2; }));
  EXPECT_EQ(text_of(at_right->messages()[0].bytes), "passes");
}

TEST_F(StreamLinkTest, a_peer_that_overruns_its_credit_is_cut_off) {
  const auto raw = connect_raw({.window_bytes = 64 * 1024});
  left->start(at_left);
  Bytes header(frame_header_bytes);
  encode({FrameType::message, true, true, 1, 64 * 1024}, header.data());
  write_raw(raw, header);
  ASSERT_TRUE(eventually([&] { return at_left->closed() == 1; }));
  EXPECT_NE(at_left->reason().find("credit overrun"), std::string::npos)
    << at_left->reason();
}

TEST_F(StreamLinkTest, a_peer_that_begins_a_message_on_each_of_many_streams_is_cut_off) {
  const auto raw = connect_raw();
  left->start(at_left);
  Bytes bytes;
  for (StreamId stream = 1; stream <= 1000; ++stream) {
    Bytes piece(frame_header_bytes + total_length_bytes + 1);
    encode({FrameType::message, true, false, stream, 1}, piece.data());
    encode_total(megabyte, piece.data() + frame_header_bytes);
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  write_raw(raw, bytes);
  ASSERT_TRUE(eventually([&] { return at_left->closed() == 1; }));
  EXPECT_NE(at_left->reason().find("too many streams"), std::string::npos)
    << at_left->reason();
}

TEST_F(StreamLinkTest, a_peer_that_talks_garbage_is_cut_off) {
  const auto raw = connect_raw();
  left->start(at_left);
  write_raw(raw, message_frame(bytes_of("good")));
  write_raw(raw, bytes_of("GET / HTTP/1.0\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return at_left->closed() == 1; }));
  EXPECT_EQ(at_left->count(), 1u);
  EXPECT_NE(at_left->reason().find("protocol"), std::string::npos) << at_left->reason();
  EXPECT_FALSE(left->send(1, bytes_of("x")));
}

TEST_F(StreamLinkTest, all_that_was_sent_arrives_before_the_end) {
  connect();
  for (int i = 0; i < 100; ++i)
    left->send(1, bytes_of(std::to_string(i)));
  ASSERT_TRUE(left->flush(60s));
  left->close();
  start();
  ASSERT_TRUE(
    eventually([&] { return at_right->closed() == 1 && at_left->closed() == 1; }));
  EXPECT_EQ(at_right->count(), 100u);
  EXPECT_FALSE(at_right->after_end());
  EXPECT_EQ(at_right->reason(), "closed by the peer: done");
  EXPECT_EQ(at_left->reason(), "closed by this side");
}

TEST_F(StreamLinkTest, a_dead_peer_is_distinguished_from_one_that_closed) {
  auto raw = connect_raw();
  left->start(at_left);
  raw.reset();
  ASSERT_TRUE(eventually([&] { return at_left->closed() == 1; }));
  EXPECT_EQ(at_left->reason().find("closed by the peer"), std::string::npos)
    << at_left->reason();
}

TEST_F(StreamLinkTest, writing_to_a_dead_peer_loses_none_of_its_messages) {
  auto raw = connect_raw();
  for (int i = 0; i < 100; ++i)
    write_raw(raw, message_frame(bytes_of(std::to_string(i))));
  raw.reset();
  left->send(1, bytes_of("to the dead")); // Fails with EPIPE before anything was read.
  EXPECT_TRUE(eventually([&] { return !left->send(1, bytes_of("again")); }));
  left->start(at_left);
  ASSERT_TRUE(eventually([&] { return at_left->closed() == 1; }));
  EXPECT_EQ(at_left->count(), 100u);
}

/// A transport that calls a function during its first read that finds nothing.
class Interrupted final : public Transport {
public:
  Interrupted(UniqueFd socket, std::function<void()> meanwhile)
    : inner_(make_plain_transport(std::move(socket))), meanwhile_(std::move(meanwhile)) {}

  IoResult read(std::span<const iovec> into) override {
    auto result = inner_->read(into);
    if (result.bytes == 0 && meanwhile_)
      std::exchange(meanwhile_, nullptr)();
    return result;
  }
  IoResult write(std::span<const iovec> from) override { return inner_->write(from); }
  int fd() const override { return inner_->fd(); }

private:
  std::unique_ptr<Transport> inner_;
  std::function<void()> meanwhile_;
};

TEST_F(StreamLinkTest, a_write_that_fails_during_a_read_loses_no_message) {
  auto ends = socket_pair();
  auto& raw = ends.second;
  ASSERT_EQ(::fcntl(ends.first.get(), F_SETFL, O_NONBLOCK), 0);
  auto end_of_peer = [&] {
    write_raw(raw, message_frame(bytes_of("last")));
    raw.reset();
    std::thread([&] {
      // On another thread, because on the reader's own send() only queues.
      while (left->send(1, bytes_of("to the dead")))
        ;
    }).join();
  };
  left = link_over(reactor,
                   std::make_unique<Interrupted>(std::move(ends.first), end_of_peer), {});
  left->start(at_left);
  ASSERT_TRUE(eventually([&] { return at_left->closed() == 1; }));
  EXPECT_EQ(at_left->count(), 1u);
}

TEST_F(StreamLinkTest, dropping_a_link_closes_it_and_releases_its_handler) {
  connect();
  start();
  std::weak_ptr<Recorder> handler = at_left;
  left.reset();
  ASSERT_TRUE(
    eventually([&] { return at_left->closed() == 1 && at_right->closed() == 1; }));
  at_left.reset();
  EXPECT_TRUE(eventually([&] { return handler.expired(); }));
}

TEST_F(StreamLinkTest, a_handler_may_close_and_drop_its_link) {
  connect();
  std::atomic<int> got = 0;
  auto starter = right;
  starter->start(std::make_shared<OnMessage>(
    [&, own = std::move(right)](StreamId, const Bytes&) mutable {
      ++got;
      own->close();
      own.reset();
    }));
  starter.reset();
  left->start(at_left);
  for (int i = 0; i < 100; ++i)
    left->send(1, bytes_of("x"));
  EXPECT_TRUE(eventually([&] { return at_left->closed() == 1; }));
  EXPECT_EQ(got, 1);
}

TEST_F(StreamLinkTest, the_end_of_the_reactor_closes_its_links) {
  auto [a, b] = socket_pair();
  auto own = std::make_unique<Reactor>();
  left = adopt(*own, std::move(a));
  left->start(at_left);
  auto never_started = adopt(*own, std::move(b));
  own.reset();
  EXPECT_EQ(at_left->closed(), 1);
  EXPECT_FALSE(left->send(1, bytes_of("x")));
  left->close();
  never_started->start(at_right);
  EXPECT_EQ(at_right->closed(), 1);
}

TEST_F(StreamLinkTest, threads_that_send_at_once_keep_the_order_of_their_streams) {
  connect();
  start();
  constexpr std::uint32_t threads = 8, each = 3000;
  {
    std::vector<std::jthread> senders;
    for (StreamId stream = 0; stream < threads; ++stream)
      senders.emplace_back([&, stream] {
        for (std::uint32_t i = 0; i < each; ++i)
          left->send(stream, bytes_of(std::to_string(i)),
                     Payload(Bytes(i % 50 == 0 ? 5000 : 3)));
      });
  }
  ASSERT_TRUE(eventually([&] { return at_right->count() == threads * each; }));
  std::map<StreamId, std::uint32_t> next;
  for (const auto& [stream, bytes] : at_right->messages())
    ASSERT_EQ(std::stoul(text_of(bytes)), next[stream]++) << "stream " << stream;
}

TEST_F(StreamLinkTest, both_ends_may_flood_each_other) {
  connect();
  const auto echo = std::make_shared<OnMessage>(
    [&](StreamId stream, Bytes message) { right->send(stream, std::move(message)); });
  right->start(echo);
  left->start(at_left);
  // Far more than the sockets' buffers hold.
  constexpr std::size_t count = 300, size = 100'000;
  for (std::size_t i = 0; i < count; ++i)
    left->send(1, {}, Payload(Bytes(size)));
  EXPECT_TRUE(eventually([&] { return at_left->count() == count; }));
}

// -- time --

TEST_F(StreamLinkTest, a_silent_peer_is_reported_once_and_may_speak_again) {
  const auto raw = connect_raw({.heartbeat_interval = 20ms, .silence_limit = 100ms});
  left->start(at_left);
  ASSERT_TRUE(eventually([&] { return at_left->silences() == 1; }));
  write_raw(raw, message_frame(bytes_of("sorry")));
  ASSERT_TRUE(eventually([&] { return at_left->count() == 1; }));
  ASSERT_TRUE(eventually([&] { return at_left->silences() == 2; }));
  EXPECT_EQ(at_left->closed(), 0);
}

TEST_F(StreamLinkTest, idle_links_hear_each_other_by_heartbeats) {
  const LinkOptions options{.heartbeat_interval = 20ms, .silence_limit = 5s};
  connect(options, options);
  start();
  const auto before = left->stats().bytes_received;
  EXPECT_TRUE(eventually(
    [&] { return left->stats().bytes_received >= before + 10 * frame_header_bytes; }));
  EXPECT_EQ(at_left->silences(), 0);
}

/// A process that answers "?" with the number of silences that it has seen.
[[noreturn]] void report_silences(UniqueFd socket) {
  {
    Reactor reactor;
    const auto link = adopt(reactor, std::move(socket),
                            {.heartbeat_interval = 20ms, .silence_limit = 500ms});
    std::atomic<int> silences = 0;
    std::atomic<bool> closed = false;
    struct Handler final : LinkHandler {
      void on_message(StreamId stream, Bytes) override {
        link->send(stream, bytes_of(std::to_string(silences->load())));
      }
      void on_silence() override { ++*silences; }
      void on_closed(const LinkEnd&) override { *closed = true; }
      Link* link = nullptr;
      std::atomic<int>* silences = nullptr;
      std::atomic<bool>* closed = nullptr;
    };
    const auto handler = std::make_shared<Handler>();
    handler->link = link.get();
    handler->silences = &silences;
    handler->closed = &closed;
    link->start(handler);
    while (!closed)
      std::this_thread::sleep_for(1ms);
  }
  ::_exit(0);
}

TEST(StoppedProcess, a_stopped_process_does_not_report_its_peer_as_silent) {
  auto [ours, theirs] = socket_pair();
  const pid_t child = ::fork(); // Before any thread runs.
  if (child == 0) {
    ours.reset();
    report_silences(std::move(theirs));
  }
  theirs.reset();
  const auto handler = std::make_shared<Recorder>();
  {
    Reactor reactor;
    const auto link = adopt(reactor, std::move(ours),
                            {.heartbeat_interval = 20ms, .silence_limit = 1500ms});
    link->start(handler);
    link->send(1, bytes_of("?"));
    ASSERT_TRUE(eventually([&] { return handler->count() == 1; }))
      << "the child never began";
    ::kill(child, SIGSTOP);
    EXPECT_TRUE(eventually([&] { return handler->silences() == 1; }))
      << "we should notice that it is stopped, three of its limits later";
    ::kill(child, SIGCONT);
    link->send(1, bytes_of("?"));
    EXPECT_TRUE(eventually([&] { return handler->count() == 2; }));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(handler->messages().at(1).bytes), "0");
}

} // namespace
} // namespace fiber::wire
