// SPDX-License-Identifier: Apache-2.0
// The promise: a peer that sends faster than its messages are used has to wait, and that
// is no silence of it.

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>

#include <gtest/gtest.h>

#include "tests/wire/wire_fixture.hpp"
#include "wire/frame.hpp"
#include "wire/reactor.hpp"
#include "wire/stream_link.hpp"

namespace fiber::wire {
namespace {

constexpr std::size_t much = 1024 * 1024;

/// Has too much to do from the first message on, until it is free.
class BusyHandler : public Recorder {
public:
  std::size_t waiting() const override { return busy && count() > 0 ? much : 0; }
  std::atomic<bool> busy = true;
};

bool has_room(const UniqueFd& socket) {
  pollfd writable{socket.get(), POLLOUT, 0};
  return ::poll(&writable, 1, 500) == 1;
}

TEST(BusyHandlerTest, nothing_is_read_while_the_handler_has_enough_to_do) {
  Reactor reactor;
  auto [ours, raw] = socket_pair();
  auto link =
    adopt(reactor, std::move(ours), {.silence_limit = 100ms, .waiting_limit = much - 1});
  const auto handler = std::make_shared<BusyHandler>();
  const auto body = pattern(60'000);
  Bytes frame(frame_header_bytes);
  encode({FrameType::message, true, true, 1, static_cast<std::uint32_t>(body.size())},
         frame.data());
  frame.insert(frame.end(), body.begin(), body.end());
  // The handler is busy from the beginning, or the peer would seem to be silent.
  ASSERT_EQ(::send(raw.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT),
            static_cast<ssize_t>(frame.size()));
  link->start(handler);
  // Neither credit nor good will stops this peer: the socket does.
  std::size_t sent = 1;
  for (; sent < 100 && has_room(raw); ++sent)
    for (std::size_t done = 0; done < frame.size() && has_room(raw);) {
      const auto n = ::send(raw.get(), frame.data() + done, frame.size() - done,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
      ASSERT_GT(n, 0);
      done += static_cast<std::size_t>(n);
    }
  EXPECT_LT(sent, 100u);
  EXPECT_LT(handler->count(), sent);
  EXPECT_EQ(handler->silences(), 0); // It may well speak: nobody listens.
  const auto before = handler->count();
  handler->busy = false;
  ASSERT_TRUE(eventually([&] { return handler->count() > before; }));
  for (const auto& message : handler->messages())
    ASSERT_EQ(message.bytes, body);
}

} // namespace
} // namespace fiber::wire
