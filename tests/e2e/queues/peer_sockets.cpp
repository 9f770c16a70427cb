// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/queues/peer_sockets.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/e2e/support/processes.hpp"

namespace fiber::e2e {
namespace {

struct Name {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  bool internet() const { return bytes.ss_family == AF_INET; }
  std::uint16_t port() const {
    return ntohs(reinterpret_cast<const sockaddr_in&>(bytes).sin_port);
  }
  bool abstract() const {
    return bytes.ss_family == AF_UNIX && size > offsetof(sockaddr_un, sun_path) + 1 &&
           reinterpret_cast<const sockaddr_un&>(bytes).sun_path[0] == 0;
  }
};

template <class Ask>
Name name_of(const UniqueFd& socket, Ask ask) {
  Name name;
  name.size = sizeof name.bytes;
  if (ask(socket.get(), reinterpret_cast<sockaddr*>(&name.bytes), &name.size) != 0)
    name.size = 0;
  return name;
}

bool listens(const UniqueFd& socket) {
  int yes = 0;
  socklen_t size = sizeof yes;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &yes, &size);
  return yes != 0;
}

std::vector<UniqueFd> sockets(pid_t process) {
  std::vector<UniqueFd> all;
  UniqueFd whose(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  std::error_code gone;
  std::filesystem::directory_iterator open("/proc/" + std::to_string(process) + "/fd",
                                           gone);
  if (!gone)
    for (auto& entry : open) {
      auto fd = std::stoi(entry.path().filename());
      auto target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (target.starts_with("socket:"))
        all.emplace_back(
          static_cast<int>(::syscall(SYS_pidfd_getfd, whose.get(), fd, 0)));
    }
  std::erase_if(all, [](auto& fd) { return !fd; });
  return all;
}

/// Where jobs reach this process.
std::set<std::uint16_t> own_ports() {
  std::set<std::uint16_t> ports;
  for (auto& socket : sockets(getpid()))
    if (auto own = name_of(socket, ::getsockname); own.internet() && listens(socket))
      ports.insert(own.port());
  return ports;
}

} // namespace

std::vector<UniqueFd> peer_links(pid_t job) {
  auto all = sockets(job);
  auto ports = own_ports();
  std::erase_if(all, [&](auto& socket) {
    auto own = name_of(socket, ::getsockname), peer = name_of(socket, ::getpeername);
    auto local = own.abstract() || peer.abstract();
    auto internet = peer.internet() && peer.size > 0 && !ports.contains(peer.port());
    return listens(socket) || (!local && !internet);
  });
  return all;
}

std::vector<UniqueFd> peer_doors(pid_t job) {
  auto all = sockets(job);
  std::erase_if(all, [](auto& socket) {
    auto own = name_of(socket, ::getsockname);
    return !listens(socket) || (!own.abstract() && !own.internet());
  });
  return all;
}

UniqueFd knock(const UniqueFd& door) {
  auto where = name_of(door, ::getsockname);
  UniqueFd socket(::socket(where.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&where.bytes), where.size) != 0)
    socket.reset();
  return socket;
}

bool is_closed(const UniqueFd& socket) {
  return wait_until([&] {
    std::array<char, 4096> any;
    auto got = ::recv(socket.get(), any.data(), any.size(), MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
  });
}

std::size_t cut_peer_links(pid_t job, bool some) {
  std::size_t lost = 0;
  kill(job, SIGSTOP);
  wait_until([&] { return is_stopped(job); });
  auto links = peer_links(job);
  auto take = [&] {
    std::array<char, 65536> bytes;
    for (auto& link : links)
      for (ssize_t got = 1; got > 0;) {
        got = ::recv(link.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        lost += got > 0 ? static_cast<std::size_t>(got) : 0;
      }
    return !some || lost > 0;
  };
  wait_until(take);
  for (auto& link : links)
    ::shutdown(link.get(), SHUT_RDWR);
  kill(job, SIGCONT);
  return lost;
}

} // namespace fiber::e2e
