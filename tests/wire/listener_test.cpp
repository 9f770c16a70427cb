// SPDX-License-Identifier: Apache-2.0
// The promise: a peer with this session's certificate and this build gets a link. Any
// other peer is refused with one log line and delays nobody. A peer that leaves by itself
// is not refused.

#include "wire/listener.hpp"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>

#include "base/log.hpp"
#include "tests/wire/wire_fixture.hpp"
#include "wire/error.hpp"
#include "wire/openssl.hpp"
#include "wire/reactor.hpp"
#include "wire/refusal_log.hpp"

namespace fiber::wire {
namespace {

/// Records log lines.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    lines_.emplace_back(message.payload.begin(), message.payload.end());
    if (message.level == spdlog::level::debug)
      lines_.back().insert(0, "debug: ");
  }
  void flush_() override {}
  std::vector<std::string> lines_;
};

struct ListenerTest : testing::Test {
  ListenerTest() { log().sinks() = {sink}; }
  ~ListenerTest() override {
    listener.reset();
    log().sinks() = sinks;
  }

  void listen(std::chrono::milliseconds handshake_limit = 60s, LinkOptions link = {},
              std::chrono::milliseconds crowded_limit = 1s) {
    listener = std::make_unique<Listener>(
      reactor, ca.issue(0), hello,
      ListenerOptions{
        .handshake_limit = handshake_limit, .crowded_limit = crowded_limit, .link = link},
      [this](const Hello& peer, std::shared_ptr<Link> link) {
        const std::lock_guard lock(mutex);
        incarnations.push_back(peer.incarnation);
        link->start(at_listener);
        accepted.push_back(std::move(link));
      });
  }
  std::shared_ptr<Link> dial_in(const Identity& identity, const Hello& own,
                                LinkOptions options = {}) {
    return dial(peer_reactor, "127.0.0.1", listener->port(), identity, own, 0, 60s,
                options);
  }
  std::string refusal(const Identity& identity, const Hello& own) {
    try {
      dial_in(identity, own);
    } catch (const WireError& error) {
      return error.what();
    }
    return "";
  }
  std::size_t links() {
    const std::lock_guard lock(mutex);
    return accepted.size();
  }

  /// Returns a blocking TCP connection of a client that does not know our protocol, from
  /// 127.0.0.`last`.
  UniqueFd knock(unsigned last = 1) const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffu) | last);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
              0);
    address.sin_port = htons(listener->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  void say(const UniqueFd& socket, std::string_view text) {
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// Returns the first message of a correct TLS client.
  static std::string client_hello() {
    const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
    const SslPtr ssl(SSL_new(context.get()));
    BIO* out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out); // They belong to ssl now.
    SSL_connect(ssl.get());
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(out, &bytes);
    return {bytes, static_cast<std::size_t>(size)};
  }
  /// A correct TLS client that does not verify its peer.
  void knock_with_tls(const Identity* identity, bool old = false) {
    const auto socket = knock();
    const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
    if (identity) {
      SSL_CTX_use_certificate(context.get(), identity->impl().cert.get());
      SSL_CTX_use_PrivateKey(context.get(), identity->impl().key.get());
    }
    if (old)
      SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
    const SslPtr ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), socket.get());
    char byte;
    if (SSL_connect(ssl.get()) == 1) {
      EXPECT_LE(SSL_read(ssl.get(), &byte, 1), 0);
    }
  }

  /// Waits for the log line about a stranger, and checks that there is no second one.
  void expect_one_line(const std::string& words) {
    ASSERT_TRUE(eventually([&] { return !sink->lines().empty(); }));
    listener.reset(); // Ends its logging.
    const auto lines = sink->lines();
    ASSERT_EQ(lines.size(), 1u) << lines[1];
    EXPECT_NE(lines[0].find(words), std::string::npos) << lines[0];
    EXPECT_NE(lines[0].find("refused 127.0.0.1:"), std::string::npos) << lines[0];
    EXPECT_EQ(links(), 0u);
  }

  const std::vector<spdlog::sink_ptr> sinks = log().sinks();
  std::shared_ptr<LogSink> sink = std::make_shared<LogSink>();
  const SessionCa ca;
  const Hello hello{"session-1", "build-1", 0}, job{"session-1", "build-1", 42};
  std::mutex mutex;
  std::vector<std::uint64_t> incarnations;
  std::vector<std::shared_ptr<Link>> accepted;
  std::shared_ptr<Recorder> at_listener = std::make_shared<Recorder>(),
                            at_dialler = std::make_shared<Recorder>();
  Reactor reactor, peer_reactor;
  std::unique_ptr<Listener> listener;
};

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
  LinkOptions quiet;
  quiet.heartbeat_interval = 1h; // No later bytes that could push the rest out.
  quiet.silence_limit = 4h;
  std::promise<void> go_on;
  at_listener = std::make_shared<OnMessage>(
    [this, wait = go_on.get_future().share()](StreamId stream, Bytes message) {
      wait.wait();
      at_listener->Recorder::on_message(stream, std::move(message));
    });
  listen(60s, quiet);
  const auto link = dial_in(ca.issue(job.incarnation), job, quiet);
  link->start(at_dialler);
  ASSERT_TRUE(eventually([&] { return link->stats().bytes_received > 0; })); // Credit.
  std::size_t sent = 0;
  do // The rest of a message that fills the socket waits encrypted, not in the backlog.
    ASSERT_TRUE(
      link->send(static_cast<StreamId>(sent++ % 8), {}, Payload(pattern(50'000))));
  while (link->flush(0ms));
  EXPECT_EQ(link->backlog(), 0u);
  go_on.set_value();
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

TEST_F(ListenerTest, many_silent_peers_delay_nobody) {
  listen(1h);
  std::vector<UniqueFd> crowd(300);
  for (auto& socket : crowd)
    socket = knock();
  EXPECT_TRUE(dial_in(ca.issue(job.incarnation), job));
  EXPECT_TRUE(eventually([&] { return links() == 1; }));
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

TEST_F(ListenerTest, a_flood_of_silent_connections_does_not_keep_a_job_out) {
  listen();
  constexpr std::size_t more_than_the_limit = 600;
  std::vector<UniqueFd> mute;
  while (mute.size() < more_than_the_limit)
    mute.push_back(knock());
  EXPECT_NO_THROW(dial_in(ca.issue(job.incarnation), job));
  EXPECT_TRUE(eventually([&] { return links() == 1; }));
  listener.reset();
  EXPECT_LE(sink->lines().size(), 2 * RefusalLog::lines_in_full + 2);
}

TEST_F(ListenerTest, peers_of_one_address_leave_places_for_others) {
  listen(1h, {}, 1h); // No place becomes free.
  constexpr std::size_t more_than_the_limit = 300;
  const auto hello = client_hello();
  std::vector<UniqueFd> half(more_than_the_limit);
  for (auto& socket : half) {
    socket = knock(2);
    say(socket, hello);
  }
  EXPECT_NO_THROW(dial_in(ca.issue(job.incarnation), job));
  EXPECT_TRUE(eventually([&] { return links() == 1; }));
}

TEST_F(ListenerTest, of_the_peers_that_wait_those_of_the_commonest_address_are_dropped) {
  listen(1h, {}, 1h);
  constexpr std::size_t more_than_are_held = 1400;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max; // Both ends of each are in this process.
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto hello = client_hello();
  std::vector<UniqueFd> half(more_than_are_held);
  for (auto& socket : half) {
    socket = knock(2);
    say(socket, hello);
  }
  EXPECT_TRUE(eventually([&] { return !sink->lines().empty(); }));
  EXPECT_NE(sink->lines()[0].find("too many others of its address"), std::string::npos)
    << sink->lines()[0];
  EXPECT_NO_THROW(dial_in(ca.issue(job.incarnation), job));
  EXPECT_TRUE(eventually([&] { return links() == 1; }));
}

TEST_F(ListenerTest, an_unfinished_handshake_is_dropped) {
  listen(200ms);
  const auto mute = knock();
  expect_one_line("did not finish the TLS handshake in time");
}

TEST_F(ListenerTest, half_a_handshake_delays_nobody) {
  listen();
  const auto mute = knock(), half = knock();
  // The beginning of a ClientHello.
  say(half, std::string_view("\x16\x03\x01\x02\x00\x01", 6));
  std::vector<std::shared_ptr<Link>> dialled;
  for (int i = 0; i < 20; ++i) {
    dialled.push_back(dial_in(ca.issue(job.incarnation), job));
    dialled.back()->start(at_dialler);
  }
  EXPECT_TRUE(eventually([&] { return links() == 20; }));
  EXPECT_TRUE(sink->lines().empty());
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
