// SPDX-License-Identifier: Apache-2.0
#include "wire/own_address.hpp"

#include <cerrno>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/address_on_route.hpp"
#include "base/unique_fd.hpp"
#include "wire/address.hpp"
#include "wire/error.hpp"

namespace fiber::wire {
namespace {

constexpr std::uint16_t any_port = 9; // Nothing is sent there.

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    constexpr std::uint32_t net = 127U << 24U, mask = 255U << 24U;
    auto& in = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(in.sin_addr.s_addr) & mask) == net;
  }
  auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

} // namespace

std::string own_address_towards(const std::string& host) {
  auto problem = EADDRNOTAVAIL;
  auto found = resolve(host, any_port, false);
  for (auto* at = found.get(); at != nullptr; at = at->ai_next) {
    if (auto address = address_on_route(*at); !address.empty())
      return address;
    problem = errno;
  }
  throw WireError("no route to " + host + ": " +
                  std::generic_category().message(problem));
}

bool is_loopback(const std::string& host) {
  auto found = resolve(host, any_port, false);
  for (auto* at = found.get(); at != nullptr; at = at->ai_next)
    if (!is_loopback(*at->ai_addr))
      return false;
  return true;
}

bool is_own_address(const std::string& host) {
  auto found = resolve(host, 0, false);
  UniqueFd socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket && ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0;
}

std::string loopback_address() {
  const std::string v4 = "127.0.0.1", v6 = "::1";
  return is_own_address(v4) || !is_own_address(v6) ? v4 : v6;
}

} // namespace fiber::wire
