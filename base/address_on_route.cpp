// SPDX-License-Identifier: Apache-2.0
#include "base/address_on_route.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "base/unique_fd.hpp"

namespace fiber {

std::string address_on_route(const addrinfo& target) {
  UniqueFd socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  std::array<char, NI_MAXHOST> text{};
  if (!socket || ::connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0 ||
      ::getsockname(socket.get(), address, &size) != 0) {
    const int problem = errno;
    socket.reset();
    errno = problem;
    return {};
  }
  if (::getnameinfo(address, size, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
    errno = EADDRNOTAVAIL;
  return text.data();
}

} // namespace fiber
