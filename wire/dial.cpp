// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "wire/address.hpp"
#include "wire/connection.hpp"
#include "wire/error.hpp"
#include "wire/greeting.hpp"
#include "wire/listener.hpp"

namespace fiber::wire {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Retries with backoff until a listener answers.
UniqueFd reach(const std::string& host, std::uint16_t port, Clock::time_point until,
               std::string& error) {
  for (auto pause = 10ms;; pause = std::min(2 * pause, 500ms)) {
    try {
      if (auto socket = connect_to(host, port, until, error))
        return socket;
    } catch (const WireError& unknown) { // The name may become known later.
      error = unknown.what();
    }
    const auto left = until - Clock::now();
    if (left <= 0ms)
      return {};
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, left));
  }
}

} // namespace

std::shared_ptr<Link> dial(Reactor& reactor, const std::string& host, std::uint16_t port,
                           const Identity& identity, const Hello& own, std::uint64_t peer,
                           std::chrono::milliseconds limit, LinkOptions options) {
  const auto until = Clock::now() + limit;
  const auto where = host + ":" + std::to_string(port);
  std::string error;
  auto socket = reach(host, port, until, error);
  if (!socket)
    throw Unreachable("cannot reach " + where + ": " + error);
  Greeting greeting(std::move(socket), identity, TlsRole::client, own);
  while (true) {
    const auto progress = greeting.step();
    if (progress == Greeting::Progress::done && greeting.peer().incarnation != peer)
      throw WireError("no link to " + where + ": " + certificate_name(peer) +
                      " should answer there, but " +
                      certificate_name(greeting.peer().incarnation) + " did");
    if (progress == Greeting::Progress::done)
      return link_over(reactor, greeting.take_transport(), options);
    if (progress == Greeting::Progress::failed || progress == Greeting::Progress::lost) {
      auto problem = "no link to " + where + ": " + greeting.error();
      if (greeting.other_build())
        throw OtherBuild(problem);
      throw WireError(problem);
    }
    if (!wait_for(greeting.fd(), progress == Greeting::Progress::want_write, until))
      throw WireError("no link to " + where + ": " + greeting.unfinished());
  }
}

} // namespace fiber::wire
