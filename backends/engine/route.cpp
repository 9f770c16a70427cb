// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/route.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "base/address_on_route.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends {

namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// Looks up a host. Sets `problem` and returns null if there is none.
Addresses look_up(const std::string& host, const std::string& port, int type,
                  std::string& problem) {
  addrinfo wanted{};
  wanted.ai_socktype = type;
  addrinfo* found = nullptr;
  if (int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); error != 0)
    problem = ::gai_strerror(error);
  return {found, [](addrinfo* all) {
            if (all)
              ::freeaddrinfo(all);
          }};
}

/// Returns 0 or errno.
int error_of_connecting(const addrinfo& target, std::chrono::milliseconds limit) {
  UniqueFd socket(
    ::socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return errno;
  if (::connect(socket.get(), target.ai_addr, target.ai_addrlen) == 0)
    return 0;
  if (errno != EINPROGRESS)
    return errno;
  pollfd connected{socket.get(), POLLOUT, 0};
  if (::poll(&connected, 1, static_cast<int>(limit.count())) <= 0)
    return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error
                                                                              : errno;
}

} // namespace

std::string address_towards(const std::string& host) {
  std::string ignored;
  const auto all = look_up(host, "1", SOCK_DGRAM, ignored);
  for (auto* target = all.get(); target; target = target->ai_next)
    if (auto address = address_on_route(*target); !address.empty())
      return address;
  return {};
}

std::string problem_of_reaching(const std::string& address,
                                std::chrono::milliseconds limit) {
  const auto colon = address.rfind(':');
  if (colon == address.npos)
    return "'" + address + "' is not HOST:PORT";
  std::string problem;
  const auto all =
    look_up(address.substr(0, colon), address.substr(colon + 1), SOCK_STREAM, problem);
  for (auto* target = all.get(); target; target = target->ai_next) {
    const int error = error_of_connecting(*target, limit);
    if (error == 0)
      return {};
    problem = std::generic_category().message(error);
  }
  return problem;
}

} // namespace fiber::backends
