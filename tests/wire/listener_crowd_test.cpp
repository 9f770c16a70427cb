// SPDX-License-Identifier: Apache-2.0
// The promise: strangers do not keep out the jobs of the session, however many there are,
// and whatever they leave unsaid.
#include <sys/resource.h>

#include <algorithm>

#include "tests/wire/listener_fixture.hpp"
#include "wire/refusal_log.hpp"

namespace fiber::wire {
namespace {

TEST_F(ListenerTest, many_silent_peers_delay_nobody) {
  listen(1h);
  std::vector<UniqueFd> crowd(300);
  for (auto& socket : crowd)
    socket = knock();
  EXPECT_TRUE(dial_in(ca.issue(job.incarnation), job));
  EXPECT_TRUE(eventually([&] { return links() == 1; }));
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
  EXPECT_TRUE(eventually([&] {
    return std::ranges::any_of(sink->lines(), [](const std::string& line) {
      return line.find("while too many others waited") != line.npos;
    });
  }));
  EXPECT_NO_THROW(dial_in(ca.issue(job.incarnation), job));
  EXPECT_TRUE(eventually([&] { return links() == 1; }));
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

} // namespace
} // namespace fiber::wire
