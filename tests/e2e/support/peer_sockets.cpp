// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/support/peer_sockets.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
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
  /// A socket of LocalListener was bound to a file of such a name.
  bool local() const {
    return bytes.ss_family == AF_UNIX && size > offsetof(sockaddr_un, sun_path) &&
           std::string_view(reinterpret_cast<const sockaddr_un&>(bytes).sun_path)
               .find("/fiber-link-") != std::string_view::npos;
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

/// Where others reach it: its file has no name any more.
Name address_of(pid_t job, const UniqueFd& door) {
  auto own = name_of(door, ::getsockname);
  if (own.internet())
    return own;
  auto& address = reinterpret_cast<sockaddr_un&>(own.bytes);
  const auto file = std::string(address.sun_path) + " (deleted)";
  std::error_code gone;
  for (auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(job) + "/fd", gone))
    if (std::filesystem::read_symlink(entry.path(), gone) == file) {
      address = {.sun_family = AF_UNIX, .sun_path = {}};
      entry.path().string().copy(address.sun_path, sizeof address.sun_path - 1);
      own.size = sizeof address;
    }
  return own;
}

} // namespace

std::vector<UniqueFd> peer_links(pid_t job) {
  auto all = sockets(job);
  auto ports = own_ports();
  std::erase_if(all, [&](auto& socket) {
    auto own = name_of(socket, ::getsockname), peer = name_of(socket, ::getpeername);
    auto local = own.local() || peer.local();
    auto internet = peer.internet() && peer.size > 0 && !ports.contains(peer.port());
    return listens(socket) || (!local && !internet);
  });
  return all;
}

std::vector<UniqueFd> peer_doors(pid_t job) {
  auto all = sockets(job);
  std::erase_if(all, [](auto& socket) {
    auto own = name_of(socket, ::getsockname);
    return !listens(socket) || (!own.local() && !own.internet());
  });
  return all;
}

UniqueFd knock(pid_t job, const UniqueFd& door) {
  auto where = address_of(job, door);
  UniqueFd socket(::socket(where.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&where.bytes), where.size) != 0)
    socket.reset();
  return socket;
}

bool another_user_finds_no_door(const std::vector<pid_t>& jobs) {
  std::vector<std::string> paths;
  std::error_code gone;
  for (auto job : jobs)
    for (auto& entry : std::filesystem::directory_iterator(
           "/proc/" + std::to_string(job) + "/fd", gone))
      if (std::filesystem::read_symlink(entry.path(), gone)
            .string()
            .find("/fiber-link-") != std::string::npos)
        paths.push_back(entry.path().string());
  constexpr uid_t nobody = 65534;
  constexpr int times = 1000;
  const auto child = ::fork();
  if (child == 0) {
    if (::setresuid(nobody, nobody, nobody) != 0)
      ::_exit(1);
    auto all = paths;
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);)
      if (auto at = line.find("@fiber"); at != line.npos)
        all.push_back(std::string(1, '\0') + line.substr(at + 1));
    for (auto& path : all)
      for (int i = 0; i < times; ++i) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path);
        const auto size =
          static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
        const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
        if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0)
          ::_exit(2);
      }
    ::_exit(0);
  }
  int status = -1;
  return !paths.empty() && ::waitpid(child, &status, 0) == child && status == 0;
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
