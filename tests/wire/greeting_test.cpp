// SPDX-License-Identifier: Apache-2.0
// The promise: a peer counts as talking once its first message is complete, and not
// before. An incomplete message costs nothing.

#include "wire/greeting.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/wire/wire_fixture.hpp"

namespace fiber::wire {
namespace {

using Progress = Greeting::Progress;

UniqueFd nonblocking(UniqueFd socket) {
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return socket;
}

struct GreetingTest : testing::Test {
  /// What a job says first.
  std::string client_hello() const {
    auto [ours, theirs] = socket_pair();
    Greeting job(nonblocking(std::move(ours)), ca.issue(7), TlsRole::client,
                 {"session-1", "build-1", 7});
    EXPECT_EQ(job.step(), Progress::want_read);
    std::string text(1 << 14, '\0');
    const auto n = ::read(theirs.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  void say(const std::string& text) const {
    EXPECT_EQ(::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  const SessionCa ca;
  std::pair<UniqueFd, UniqueFd> sockets = socket_pair();
  UniqueFd peer = std::move(sockets.second);
  Greeting listener{nonblocking(std::move(sockets.first)),
                    ca.issue(0),
                    TlsRole::server,
                    {"session-1", "build-1", 0}};
};

TEST_F(GreetingTest, half_a_hello_is_not_answered) {
  const auto hello = client_hello();
  ASSERT_GT(hello.size(), 100u);
  EXPECT_EQ(listener.step(), Progress::want_read);
  EXPECT_FALSE(listener.answered());
  say(hello.substr(0, hello.size() / 2));
  EXPECT_EQ(listener.step(), Progress::want_read);
  EXPECT_FALSE(listener.answered());
  say(hello.substr(hello.size() / 2));
  EXPECT_EQ(listener.step(), Progress::want_read);
  EXPECT_TRUE(listener.answered());
}

TEST_F(GreetingTest, a_hello_without_certificate_leads_to_no_link) {
  say(client_hello());
  EXPECT_EQ(listener.step(), Progress::want_read);
  ::shutdown(peer.get(), SHUT_WR);
  EXPECT_EQ(listener.step(), Progress::lost);
  EXPECT_FALSE(listener.error().empty());
}

} // namespace
} // namespace fiber::wire
