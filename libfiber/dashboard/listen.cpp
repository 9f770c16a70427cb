// SPDX-License-Identifier: Apache-2.0
#include "libfiber/dashboard/listen.hpp"

#include <cerrno>
#include <memory>
#include <system_error>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace fiber::dashboard {
namespace {

constexpr int backlog = 64;

[[noreturn]] void refuse(const std::string& host, std::uint16_t port,
                         const std::string& why) {
  throw SettingProblem("dashboard",
                       "'" + host + ":" + std::to_string(port) + "': " + why);
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET6) {
    auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
  }
  auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
  return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}

} // namespace

Listening listen_at(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (auto error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
      error != 0)
    refuse(host, port, gai_strerror(error));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, freeaddrinfo);
  Listening made;
  made.socket.reset(
    ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  made.v6 = found->ai_family == AF_INET6;
  made.loopback = is_loopback(found->ai_addr);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  auto* generic = reinterpret_cast<sockaddr*>(&bound);
  auto one = 1;
  if (!made.socket ||
      setsockopt(made.socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
      ::bind(made.socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(made.socket.get(), backlog) != 0 ||
      ::getsockname(made.socket.get(), generic, &size) != 0)
    refuse(host, port, std::generic_category().message(errno));
  char numbers[NI_MAXHOST];
  if (auto error =
        getnameinfo(generic, size, numbers, sizeof numbers, nullptr, 0, NI_NUMERICHOST);
      error != 0)
    refuse(host, port, gai_strerror(error));
  made.port = ntohs(made.v6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                            : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  auto text = std::string(numbers);
  made.address = (made.v6 ? "[" + text + "]" : text) + ":" + std::to_string(made.port);
  return made;
}

} // namespace fiber::dashboard
