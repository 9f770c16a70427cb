// SPDX-License-Identifier: Apache-2.0
// Raw round trips between two processes, blocking, without any framework: over a socket
// pair, or over TLS 1.3 on loopback TCP.

#include <cerrno>
#include <functional>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "peers/channel.hpp"
#include "peers/measurement.hpp"

namespace {

using peers::Channel;

// Runs `server` in a process of its own and `client` here, joined by a channel.
void with_peer(bool tls, const std::function<void(Channel&)>& server,
               const std::function<void(Channel&)>& client) {
  auto ends = tls ? peers::tcp_pair() : peers::local_pair();
  const auto pid = ::fork();
  if (pid < 0)
    throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) {
    ends[0].close();
    auto channel = peers::make_channel(std::move(ends[1]), tls, true);
    server(*channel);
    ::_exit(0);
  }
  ends[1].close();
  {
    auto channel = peers::make_channel(std::move(ends[0]), tls, false);
    client(*channel);
  } // Closes the channel, which ends the server.
  ::waitpid(pid, nullptr, 0);
}

void echo(Channel& channel, std::size_t size) {
  std::vector<char> message(size);
  while (channel.read(message))
    channel.write(message);
}

// The seconds of `count` round trips of `size` bytes.
double round_trips(bool tls, std::size_t size, int count) {
  double seconds = 0;
  with_peer(
    tls, [size](Channel& channel) { echo(channel, size); },
    [&](Channel& channel) {
      std::vector<char> message(size, 'x');
      auto trip = [&] {
        channel.write(message);
        if (!channel.read(message))
          throw std::runtime_error("the peer is gone");
      };
      for (int i = 0; i < count / 10; ++i)
        trip(); // Warm.
      const peers::Stopwatch watch;
      for (int i = 0; i < count; ++i)
        trip();
      seconds = watch.seconds();
    });
  return seconds;
}

// The seconds until 100 MB have arrived once.
double send_once() {
  constexpr std::size_t size = 100'000'000;
  double seconds = 0;
  with_peer(
    false,
    [](Channel& channel) {
      std::vector<char> message(size, 'y'); // Its pages are there before the clock runs.
      std::vector<char> byte(1, 'z');
      channel.write(byte);
      if (channel.read(message))
        channel.write(byte);
    },
    [&](Channel& channel) {
      const std::vector<char> message(size, 'x');
      std::vector<char> byte(1);
      channel.read(byte);
      const peers::Stopwatch watch;
      channel.write(message);
      channel.read(byte);
      seconds = watch.seconds();
    });
  return seconds;
}

} // namespace

int main(int argc, char** argv) {
  const std::string row = argc == 2 ? argv[1] : "";
  const bool tls = row.ends_with("_tls");
  if (row == "apply_local" || row == "apply_tls") {
    constexpr int count = 50'000;
    peers::report(row, count / round_trips(tls, 16, count), "round trips/s");
  } else if (row == "pipe_local" || row == "pipe_tls") {
    constexpr int count = 10'000; // The same in less time.
    peers::report(row, count / round_trips(tls, 16, count), "round trips/s");
  } else if (row == "megabyte_local" || row == "megabyte_tls") {
    constexpr int count = 400; // 1 MB there and 1 MB back each: MB/s each way.
    peers::report(row, count / round_trips(tls, 1'000'000, count), "MB/s");
  } else if (row == "send_100mb") {
    peers::report(row, send_once(), "s");
  } else {
    std::cerr << "usage: ping_pong {apply,pipe,megabyte}_{local,tls}|send_100mb\n";
    return 2;
  }
}
