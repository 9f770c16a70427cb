// SPDX-License-Identifier: Apache-2.0
// The least that a pool of processes does for a map of 100,000 sleeps of 1 ms over 1,024
// workers: each has a socket pair to the driver, which deals CHUNK sleeps in a message of
// four bytes and gets a reply of four bytes. Nothing else: no arguments, no results, no
// losses. Each worker has two messages in hand, so that it need not wait for the driver.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers/measurement.hpp"

namespace {

constexpr int workers = 1024;
constexpr int in_hand = 2;

void check(bool good, const char* what) {
  if (!good)
    throw std::system_error(errno, std::generic_category(), what);
}

[[noreturn]] void work(int link) {
  for (std::int32_t naps = 0; ::read(link, &naps, sizeof naps) == sizeof naps;) {
    for (std::int32_t i = 0; i < naps; ++i)
      ::usleep(1000);
    if (::write(link, &naps, sizeof naps) != sizeof naps)
      break;
  }
  ::_exit(0);
}

class Driver {
public:
  explicit Driver(std::int32_t chunk) : chunk_(chunk), events_(::epoll_create1(0)) {
    check(events_ >= 0, "epoll_create1");
    for (int i = 0; i < workers; ++i)
      start();
  }

  ~Driver() {
    for (int link : links_)
      ::close(link);
    for (pid_t child : children_)
      ::waitpid(child, nullptr, 0);
    ::close(events_);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void map(std::int32_t naps) {
    to_deal_ = to_come_ = naps;
    for (int i = 0; i < in_hand; ++i)
      for (int link : links_)
        deal(link);
    while (to_come_ > 0) {
      std::array<epoll_event, 256> ready;
      const int count = ::epoll_wait(events_, ready.data(), ready.size(), -1);
      check(count >= 0 || errno == EINTR, "epoll_wait");
      for (int i = 0; i < count; ++i)
        hear(ready[static_cast<std::size_t>(i)].data.fd);
    }
  }

private:
  void start() {
    std::array<int, 2> ends{};
    check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "socketpair");
    const pid_t pid = ::fork();
    check(pid >= 0, "fork");
    if (pid == 0) {
      for (int link : links_)
        ::close(link);
      ::close(ends[0]);
      work(ends[1]);
    }
    ::close(ends[1]);
    children_.push_back(pid);
    links_.push_back(ends[0]);
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = ends[0];
    check(::epoll_ctl(events_, EPOLL_CTL_ADD, ends[0], &event) == 0, "epoll_ctl");
  }

  void deal(int link) {
    const auto naps = std::min(chunk_, to_deal_);
    if (naps == 0)
      return;
    to_deal_ -= naps;
    check(::write(link, &naps, sizeof naps) == sizeof naps, "write");
  }

  void hear(int link) {
    std::array<std::int32_t, in_hand> replies;
    const auto got = ::read(link, replies.data(), sizeof replies);
    check(got > 0 && got % static_cast<ssize_t>(sizeof(std::int32_t)) == 0, "read");
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof(std::int32_t);
         ++i) {
      to_come_ -= replies[i];
      deal(link);
    }
  }

  std::int32_t chunk_, to_deal_ = 0, to_come_ = 0;
  int events_;
  std::vector<int> links_;
  std::vector<pid_t> children_;
};

} // namespace

int main(int argc, char** argv) {
  const int chunk = argc == 2 ? std::atoi(argv[1]) : 0;
  if (chunk < 1) {
    std::cerr << "usage: dealt_naps CHUNK\n";
    return 2;
  }
  try {
    Driver driver(chunk);
    driver.map(10000); // Warm, as Fiber is.
    const peers::Stopwatch watch;
    driver.map(100000);
    peers::report("naps_1024", watch.seconds(), "s");
  } catch (const std::exception& error) {
    std::cerr << "dealt_naps: " << error.what() << '\n';
    return 1;
  }
}
