// SPDX-License-Identifier: Apache-2.0
// The promise: a peer with this session's certificate and this build gets a link. Any
// other peer is refused with one log line. A peer that leaves by itself is not refused.
#include <atomic>
#include <optional>
#include <thread>

#include "tests/wire/listener_fixture.hpp"

namespace fiber::wire {
namespace {

TEST_F(ListenerTest, messages_of_any_size_go_both_ways_over_tls) {
  listen();
  const auto link = dial_in(Identity::unpack(ca.issue(job.incarnation).pack()), job);
  link->start(at_dialler);
  std::vector<Bytes> sent;
  for (const std::size_t size : {1ul, 100ul, 16'384ul, 70'000ul, 8'000'000ul, 5ul})
    sent.push_back(pattern(size));
  for (const auto& bytes : sent)
    link->send(1, bytes_of("head"), Payload(bytes));
  ASSERT_TRUE(eventually([&] { return links() == 1; }));
  for (const auto& bytes : sent)
    accepted[0]->send(1, bytes_of("head"), Payload(bytes));
  ASSERT_TRUE(eventually([&] {
    return at_listener->count() == sent.size() && at_dialler->count() == sent.size();
  }));
  for (const auto& end : {at_listener, at_dialler}) {
    const auto got = end->messages();
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(text_of(Bytes(got[i].bytes.begin(), got[i].bytes.begin() + 4)), "head");
      EXPECT_TRUE(std::equal(sent[i].begin(), sent[i].end(), got[i].bytes.begin() + 4,
                             got[i].bytes.end()));
    }
  }
  EXPECT_EQ(incarnations, std::vector<std::uint64_t>{42});
  EXPECT_TRUE(sink->lines().empty());
}

TEST_F(ListenerTest,
       a_message_that_filled_the_socket_arrives_over_tls_without_later_traffic) {
  std::promise<void> go_on;
  const auto link = link_to_a_reader_that_waits(go_on.get_future());
  std::size_t sent = 0;
  do // The rest of a message that fills the socket waits encrypted.
    ASSERT_TRUE(
      link->send(static_cast<StreamId>(sent++ % 8), {}, Payload(pattern(50'000))));
  while (link->backlog() == 0);
  go_on.set_value();
  EXPECT_TRUE(eventually([&] { return at_listener->count() == sent; }, 20s));
}

TEST_F(ListenerTest, a_flush_over_tls_waits_for_what_the_kernel_has_not_sent) {
  std::promise<void> go_on;
  const auto link = link_to_a_reader_that_waits(go_on.get_future());
  std::size_t sent = 0;
  do // Until the reader's kernel has no room.
    ASSERT_TRUE(
      link->send(static_cast<StreamId>(sent++ % 8), {}, Payload(pattern(10'000))));
  while (link->flush(100ms));
  EXPECT_EQ(link->backlog(), 0u); // Our kernel has taken all.
  go_on.set_value();
  EXPECT_TRUE(link->flush(60s));
  EXPECT_TRUE(eventually([&] { return at_listener->count() == sent; }, 20s));
}

TEST_F(ListenerTest, threads_may_flood_both_ends_over_tls) {
  listen();
  const auto link = dial_in(ca.issue(job.incarnation), job);
  link->start(at_dialler);
  ASSERT_TRUE(eventually([&] { return links() == 1; }));
  constexpr std::size_t threads = 4, each = 300;
  {
    std::vector<std::jthread> senders;
    for (StreamId stream = 0; stream < threads; ++stream)
      senders.emplace_back([&, stream] {
        for (std::size_t i = 0; i < each; ++i) {
          link->send(stream, Bytes(10), Payload(Bytes(i % 10 == 0 ? 50'000 : 10)));
          accepted[0]->send(stream, Bytes(10), Payload(Bytes(i % 10 == 0 ? 50'000 : 10)));
        }
      });
  }
  EXPECT_TRUE(eventually([&] {
    return at_listener->count() == threads * each &&
           at_dialler->count() == threads * each;
  }));
}

TEST_F(ListenerTest, the_end_of_a_tls_link_comes_after_its_messages) {
  listen();
  auto link = dial_in(ca.issue(job.incarnation), job);
  link->send(1, bytes_of("results"));
  ASSERT_TRUE(link->flush(60s));
  link.reset();
  ASSERT_TRUE(eventually([&] { return at_listener->closed() == 1; }));
  EXPECT_EQ(at_listener->count(), 1u);
  EXPECT_EQ(at_listener->reason(), "closed by the peer: done");
}

TEST_F(ListenerTest, a_peer_without_certificate_is_refused) {
  listen();
  knock_with_tls(nullptr);
  expect_one_line("no certificate");
}

TEST_F(ListenerTest, a_certificate_of_another_session_is_refused) {
  listen();
  const auto stranger = SessionCa().issue(job.incarnation);
  knock_with_tls(&stranger);
  expect_one_line("its certificate is not of this session");
}

TEST_F(ListenerTest, a_dialler_refuses_the_certificate_of_another_session) {
  listen();
  EXPECT_NE(refusal(SessionCa().issue(job.incarnation), job)
              .find("certificate is not of this session"),
            std::string::npos);
  expect_one_line("TLS failed");
}

TEST_F(ListenerTest, a_job_cannot_claim_another_jobs_incarnation) {
  listen();
  const auto reason = refusal(ca.issue(job.incarnation + 1), job);
  EXPECT_NE(reason.find("refused us"), std::string::npos) << reason;
  expect_one_line("claims to be job-42, but its certificate is job-43's");
}

TEST_F(ListenerTest, a_job_cannot_claim_to_be_the_driver) {
  listen();
  refusal(ca.issue(job.incarnation), hello);
  expect_one_line("claims to be driver, but its certificate is job-42's");
}

TEST_F(ListenerTest, a_job_that_listens_cannot_pose_as_the_driver) {
  const auto false_listener = [&](const Hello& claimed) {
    listener = std::make_unique<Listener>(
      reactor, ca.issue(job.incarnation + 1), claimed, ListenerOptions{},
      [](const Hello&, const std::shared_ptr<Link>&) {});
    return refusal(ca.issue(job.incarnation), job);
  };
  auto reason = false_listener(hello);
  EXPECT_NE(reason.find("claims to be driver, but its certificate is job-43's"),
            std::string::npos)
    << reason;
  reason = false_listener({hello.session, hello.build, job.incarnation + 1});
  EXPECT_NE(reason.find("driver should answer there, but job-43 did"), std::string::npos)
    << reason;
}

TEST_F(ListenerTest, old_tls_is_refused) {
  listen();
  const auto good = ca.issue(job.incarnation);
  knock_with_tls(&good, true);
  expect_one_line("unsupported protocol");
}

TEST_F(ListenerTest, a_peer_without_tls_is_refused) {
  listen();
  const auto socket = knock();
  say(socket, "GET / HTTP/1.0\r\n\r\n");
  expect_one_line("does not speak TLS");
}

TEST_F(ListenerTest, garbage_is_refused) {
  listen();
  const auto socket = knock();
  say(socket, std::string(3000, '\xab'));
  expect_one_line("does not speak TLS");
}

TEST_F(ListenerTest, a_peer_that_leaves_is_not_refused) {
  const auto level = log().level();
  log().set_level(spdlog::level::debug);
  listen();
  knock();
  EXPECT_TRUE(eventually([&] { return !sink->lines().empty(); }));
  log().set_level(level);
  listener.reset();
  const auto lines = sink->lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("debug: 127.0.0.1:")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(
    " left before it joined: closed the connection during the handshake"))
    << lines[0];
}

TEST_F(ListenerTest, a_dialler_of_another_session_gets_both_sessions_names) {
  listen();
  const auto reason =
    refusal(ca.issue(job.incarnation), {"session-2", "build-1", job.incarnation});
  EXPECT_NE(reason.find("session-1"), std::string::npos) << reason;
  EXPECT_NE(reason.find("session-2"), std::string::npos) << reason;
  expect_one_line("another session");
}

TEST_F(ListenerTest, a_dialler_of_another_build_gets_both_builds) {
  listen();
  const auto reason =
    refusal(ca.issue(job.incarnation), {"session-1", "build-2", job.incarnation});
  EXPECT_NE(reason.find("build-1"), std::string::npos) << reason;
  EXPECT_NE(reason.find("build-2"), std::string::npos) << reason;
  expect_one_line("another build");
}

TEST_F(ListenerTest, an_unfinished_handshake_is_dropped) {
  listen(200ms);
  const auto mute = knock();
  expect_one_line("did not finish the TLS handshake in time");
}

TEST_F(ListenerTest, dial_names_the_unreachable_address) {
  listen();
  const auto port = listener->port();
  listener.reset();
  try {
    dial(peer_reactor, "127.0.0.1", port, ca.issue(job.incarnation), job, 0, 50ms);
    FAIL() << "no listener is there";
  } catch (const WireError& error) {
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + std::to_string(port)),
              std::string::npos)
      << error.what();
  }
}

TEST_F(ListenerTest, dial_retries_until_a_listener_answers) {
  listen();
  const auto port = listener->port();
  listener.reset();
  std::jthread later([&] {
    std::this_thread::sleep_for(
      50ms); // After the first attempt; otherwise the test is trivial.
    listener = std::make_unique<Listener>(
      reactor, ca.issue(0), hello, ListenerOptions{.port = port},
      [](const Hello&, const std::shared_ptr<Link>&) {});
  });
  EXPECT_NO_THROW(
    dial(peer_reactor, "127.0.0.1", port, ca.issue(job.incarnation), job, 0, 60s));
}

/// Takes connections and says nothing.
struct MuteListener {
  MuteListener() {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    const int yes = 1; // Another one may listen there right after this one.
    EXPECT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    EXPECT_EQ(::bind(fd.get(), plain, size), 0);
    EXPECT_EQ(::listen(fd.get(), 1), 0);
    EXPECT_EQ(::getsockname(fd.get(), plain, &size), 0);
    port = ntohs(address.sin_port);
  }

  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;
};

TEST_F(ListenerTest, dial_comes_again_when_a_crowded_listener_has_dropped_it) {
  std::optional<MuteListener> crowded(std::in_place);
  const auto port = crowded->port;
  std::jthread later([&] {
    for (int i = 0; i < 3; ++i)
      const UniqueFd dropped(::accept(crowded->fd.get(), nullptr, nullptr));
    crowded.reset();
    listener = std::make_unique<Listener>(
      reactor, ca.issue(0), hello, ListenerOptions{.port = port},
      [](const Hello&, const std::shared_ptr<Link>&) {});
  });
  EXPECT_NO_THROW(
    dial(peer_reactor, "127.0.0.1", port, ca.issue(job.incarnation), job, 0, 60s));
}

TEST_F(ListenerTest, dial_gives_up_on_a_silent_listener) {
  const MuteListener mute;
  EXPECT_THROW(
    dial(peer_reactor, "127.0.0.1", mute.port, ca.issue(job.incarnation), job, 0, 100ms),
    WireError);
}

TEST_F(ListenerTest, an_address_may_come_later) {
  ListenerOptions options{.host = "192.0.2.1"}; // No machine has it: RFC 5737.
  const auto listen_there = [&] {
    Listener(reactor, ca.issue(0), hello, options,
             [](const Hello&, const std::shared_ptr<Link>&) {});
  };
  EXPECT_THROW(listen_there(), WireError);
  options.later = true;
  EXPECT_NO_THROW(listen_there());
}

TEST_F(ListenerTest, an_address_that_is_taken_is_an_error) {
  listen();
  EXPECT_THROW(Listener(reactor, ca.issue(0), hello, {.port = listener->port()},
                        [](const Hello&, const std::shared_ptr<Link>&) {}),
               WireError);
}

} // namespace
} // namespace fiber::wire
