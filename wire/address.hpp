// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <netdb.h>

#include "base/unique_fd.hpp"

namespace fiber::wire {

struct AddressListDelete {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListDelete>;

/// Addresses of `host` for TCP. Throws WireError if there is none.
AddressList resolve(const std::string& host, std::uint16_t port, bool to_listen);

/// "10.0.0.7:4711", "[::1]:4711".
std::string to_text(const sockaddr* address, socklen_t size);
std::string peer_text(int fd);

/// A non-blocking listening socket. Throws WireError.
UniqueFd listen_on(const std::string& host, std::uint16_t port);
std::uint16_t port_of(int fd);

/// Small messages leave at once; a peer whose machine is gone is noticed by the kernel
/// too; a connection is soon back after its network was away.
void set_tcp_options(int fd);

/// Waits until `fd` can be read (or written). False if `until` came first.
bool wait_for(int fd, bool to_write, std::chrono::steady_clock::time_point until);

/// One attempt to connect, non-blocking afterwards. An empty UniqueFd, and `error` says
/// why.
UniqueFd connect_to(const std::string& host, std::uint16_t port,
                    std::chrono::steady_clock::time_point until, std::string& error);

} // namespace fiber::wire
