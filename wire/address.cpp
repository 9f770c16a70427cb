// SPDX-License-Identifier: Apache-2.0
#include "wire/address.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/system_error_text.hpp"
#include "wire/error.hpp"

namespace fiber::wire {
namespace {

/// TCP_RTO_MAX_MS of <linux/tcp.h>. Kernels before Linux 6.15 refuse it.
constexpr int tcp_rto_max_ms = 44;
/// The smallest value that the kernel accepts.
constexpr int max_between_repeats_ms = 1000;

UniqueFd make_socket(const addrinfo& address) {
  return UniqueFd(::socket(address.ai_family,
                           address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                           address.ai_protocol));
}

template <class Name>
std::string name_of(int fd, Name name) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  return name(fd, plain, &size) == 0 ? to_text(plain, size) : "an unknown address";
}

} // namespace

AddressList resolve(const std::string& host, std::uint16_t port, bool to_listen) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int error =
    ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0)
    throw WireError("no address for " + host + ": " + ::gai_strerror(error));
  return AddressList(found);
}

std::string to_text(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> host;
  std::array<char, NI_MAXSERV> port;
  if (::getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  const std::string name = host.data();
  return (name.find(':') == std::string::npos ? name : "[" + name + "]") + ":" +
         port.data();
}

std::string peer_text(int fd) {
  return name_of(fd, ::getpeername);
}

std::string peer_host(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  std::array<char, NI_MAXHOST> host;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
      (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&peer), size, host.data(), host.size(),
                    nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  constexpr std::string_view mapped = "::ffff:";
  const std::string text = host.data();
  const auto is_mapped = text.starts_with(mapped) && text.find('.') != text.npos;
  return is_mapped ? text.substr(mapped.size()) : text;
}

std::string peer_network(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0)
    return {};
  const auto bytes = [](const void* from, std::size_t count) {
    return std::string(static_cast<const char*>(from), count);
  };
  if (peer.ss_family != AF_INET6)
    return bytes(&reinterpret_cast<const sockaddr_in*>(&peer)->sin_addr, 4);
  const auto& address = reinterpret_cast<const sockaddr_in6*>(&peer)->sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address))
    return bytes(&address.s6_addr[12], 4);
  return bytes(&address, 8);
}

UniqueFd listen_on(const std::string& host, std::uint16_t port, bool later) {
  const auto list = resolve(host, port, true);
  int error = 0;
  for (const auto* address = list.get(); address; address = address->ai_next) {
    auto socket = make_socket(*address);
    const int yes = 1;
    if (socket &&
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        (!later ||
         ::setsockopt(socket.get(), SOL_IP, IP_FREEBIND, &yes, sizeof yes) == 0) &&
        ::bind(socket.get(), address->ai_addr, address->ai_addrlen) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0)
      return socket;
    error = errno;
  }
  throw WireError("cannot listen on " + host + ":" + std::to_string(port) + ": " +
                  system_error_text(error));
}

std::uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return 0;
  return ntohs(address.ss_family == AF_INET6
                 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                 : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

void set_tcp_options(int fd) {
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  // TCP doubles its retransmission timeout, so that an outage would seem twice as long
  // and look like a dead peer.
  ::setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &yes, sizeof yes);
  ::setsockopt(fd, IPPROTO_TCP, tcp_rto_max_ms, &max_between_repeats_ms,
               sizeof max_between_repeats_ms);
}

bool wait_for(int fd, bool to_write, std::chrono::steady_clock::time_point until) {
  using namespace std::chrono;
  pollfd ready{fd, static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
  while (true) {
    const auto left = ceil<milliseconds>(until - steady_clock::now()).count();
    const int count =
      ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (count > 0)
      return true;
    if (left <= 0 || (count < 0 && errno != EINTR))
      return false;
  }
}

UniqueFd connect_to(const std::string& host, std::uint16_t port,
                    std::chrono::steady_clock::time_point until, std::string& error) {
  const auto list = resolve(host, port, false);
  for (const auto* address = list.get(); address; address = address->ai_next) {
    auto socket = make_socket(*address);
    int reason = socket ? 0 : errno;
    if (socket && ::connect(socket.get(), address->ai_addr, address->ai_addrlen) != 0) {
      reason = errno;
      if (reason == EINPROGRESS) {
        socklen_t size = sizeof reason;
        reason = ETIMEDOUT;
        if (wait_for(socket.get(), true, until))
          ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &reason, &size);
      }
    }
    if (reason == 0) {
      set_tcp_options(socket.get());
      return socket;
    }
    error = system_error_text(reason);
  }
  return {};
}

} // namespace fiber::wire
