// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>

#include "base/log.hpp"
#include "tests/wire/wire_fixture.hpp"
#include "wire/error.hpp"
#include "wire/listener.hpp"
#include "wire/openssl.hpp"
#include "wire/reactor.hpp"

namespace fiber::wire {

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
  /// Returns a link over TLS whose other end reads on when it is told to.
  std::shared_ptr<Link> link_to_a_reader_that_waits(std::future<void> told) {
    LinkOptions quiet;
    quiet.heartbeat_interval = 1h; // No later bytes that could push others out.
    quiet.silence_limit = 4h;
    at_listener = std::make_shared<OnMessage>(
      [this, wait = told.share()](StreamId stream, Bytes message) {
        wait.wait();
        at_listener->Recorder::on_message(stream, std::move(message));
      });
    listen(60s, quiet);
    auto link = dial_in(ca.issue(job.incarnation), job, quiet);
    link->start(at_dialler);
    EXPECT_TRUE(eventually([&] { return link->stats().bytes_received > 0; })); // Credit.
    return link;
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

} // namespace fiber::wire
