// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "wire/address.hpp"
#include "wire/error.hpp"
#include "wire/greeting.hpp"
#include "wire/listener.hpp"
#include "wire/stream_link.hpp"

namespace fiber::wire {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Returns a link, or nothing if no listener answers, or if it has left in the middle of
/// the greeting: one that has many connections drops the slowest. `error` says which.
std::shared_ptr<Link> try_to_dial(Reactor& reactor, const std::string& host,
                                  std::uint16_t port, const Identity& identity,
                                  const Hello& own, std::uint64_t peer,
                                  Clock::time_point until, const LinkOptions& options,
                                  std::string& error) {
  const auto where = host + ":" + std::to_string(port);
  UniqueFd socket;
  try {
    socket = connect_to(host, port, until, error);
  } catch (const WireError& unknown) { // The name may become known later.
    error = unknown.what();
  }
  if (!socket) {
    error = "cannot reach " + where + ": " + error;
    return nullptr;
  }
  Greeting greeting(std::move(socket), identity, TlsRole::client, own);
  while (true) {
    const auto progress = greeting.step();
    if (progress == Greeting::Progress::done && greeting.peer().incarnation != peer)
      throw WireError("no link to " + where + ": " + certificate_name(peer) +
                      " should answer there, but " +
                      certificate_name(greeting.peer().incarnation) + " did");
    if (progress == Greeting::Progress::done)
      return link_over(reactor, greeting.take_transport(), options);
    error = "no link to " + where + ": " + greeting.error();
    if (progress == Greeting::Progress::lost)
      return nullptr;
    if (progress == Greeting::Progress::failed && greeting.other_build())
      throw OtherBuild(error);
    if (progress == Greeting::Progress::failed)
      throw WireError(error);
    if (!wait_for(greeting.fd(), progress == Greeting::Progress::want_write, until))
      throw WireError("no link to " + where + ": " + greeting.unfinished());
  }
}

} // namespace

std::shared_ptr<Link> dial(Reactor& reactor, const std::string& host, std::uint16_t port,
                           const Identity& identity, const Hello& own, std::uint64_t peer,
                           std::chrono::milliseconds limit, LinkOptions options) {
  const auto until = Clock::now() + limit;
  std::string error;
  for (auto pause = 10ms;; pause = std::min(2 * pause, 500ms)) {
    if (auto link =
          try_to_dial(reactor, host, port, identity, own, peer, until, options, error))
      return link;
    const auto left = until - Clock::now();
    if (left <= 0ms)
      throw Unreachable(error);
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, left));
  }
}

} // namespace fiber::wire
