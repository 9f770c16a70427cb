// SPDX-License-Identifier: Apache-2.0
// The bytes are what a stranger sends after it has connected to a listener. Whatever it
// sends, it gets no link, because it has no certificate.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/target.hpp"
#include "tests/wire/wire_fixture.hpp"
#include "wire/greeting.hpp"

namespace fiber::wire {
namespace {

const SessionCa& authority() {
  static const SessionCa one;
  return one;
}

UniqueFd nonblocking(UniqueFd socket) {
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return socket;
}

/// The first bytes of one who dials.
std::string first_bytes(const SessionCa& ca) {
  auto [ours, theirs] = socket_pair();
  Greeting dialler(nonblocking(std::move(ours)), ca.issue(7), TlsRole::client,
                   {"session-1", "build-1", 7});
  static_cast<void>(dialler.step());
  std::string text(1 << 14, '\0');
  const auto n = ::read(theirs.get(), text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

} // namespace
} // namespace fiber::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fiber::wire;
  static const auto identity = authority().issue(0);
  auto [ours, theirs] = socket_pair();
  Greeting greeting(nonblocking(std::move(ours)), identity, TlsRole::server,
                    {"session-1", "build-1", 0});
  const auto stranger = nonblocking(std::move(theirs));
  if (::send(stranger.get(), data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size))
    std::abort(); // An input is shorter than a socket's buffer.
  auto progress = greeting.step();
  fiber::fuzz::taken += progress == Greeting::Progress::want_read;
  ::shutdown(stranger.get(), SHUT_WR);
  for (int i = 0; i < 4 && progress != Greeting::Progress::failed; ++i)
    progress = greeting.step();
  if (progress != Greeting::Progress::failed || greeting.error().empty())
    std::abort();
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  const auto hello = wire::first_bytes(wire::authority());
  return {hello, hello.substr(0, 6), hello.substr(0, hello.size() / 2)};
}
