// SPDX-License-Identifier: Apache-2.0
#include "peers/nap_workers.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace peers {

void check(bool good, const char* what) {
  if (!good)
    throw std::system_error(errno, std::generic_category(), what);
}

NapWorkers::NapWorkers(const std::function<void(int, std::size_t)>& work)
  : events_(::epoll_create1(0)), ready_(256) {
  check(events_ >= 0, "epoll_create1");
  while (links_.size() < count)
    start(work);
}

NapWorkers::~NapWorkers() {
  for (int link : links_)
    ::close(link);
  for (pid_t child : children_)
    ::waitpid(child, nullptr, 0);
  ::close(events_);
}

std::span<const epoll_event> NapWorkers::ready() {
  const int found =
    ::epoll_wait(events_, ready_.data(), static_cast<int>(ready_.size()), -1);
  check(found >= 0 || errno == EINTR, "epoll_wait");
  return std::span(ready_).first(found < 0 ? 0 : static_cast<std::size_t>(found));
}

void NapWorkers::start(const std::function<void(int, std::size_t)>& work) {
  std::array<int, 2> ends{};
  check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "socketpair");
  const pid_t pid = ::fork();
  check(pid >= 0, "fork");
  if (pid == 0) {
    for (int link : links_)
      ::close(link);
    ::close(events_);
    ::close(ends[0]);
    work(ends[1], links_.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = links_.size();
  children_.push_back(pid);
  links_.push_back(ends[0]);
  check(::epoll_ctl(events_, EPOLL_CTL_ADD, ends[0], &event) == 0, "epoll_ctl");
}

} // namespace peers
