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

/// Returns the TCP addresses of `host`. Throws WireError if there are none.
AddressList resolve(const std::string& host, std::uint16_t port, bool to_listen);

/// Formats an address as "10.0.0.7:4711" or "[::1]:4711".
std::string to_text(const sockaddr* address, socklen_t size);
std::string peer_text(int fd);
/// Returns the peer's numeric address without its port; empty if there is none. An IPv4
/// address looks the same whether the socket is one of IPv4 or of IPv6.
std::string peer_host(int fd);
/// Returns the bytes of the peer's IPv4 address, or of its IPv6 network (the first 64
/// bits, since whoever has one address has them all). Empty if there is no peer.
std::string peer_network(int fd);

/// Returns a non-blocking listening socket. Throws WireError.
UniqueFd listen_on(const std::string& host, std::uint16_t port, bool later = false);
std::uint16_t port_of(int fd);

/// Makes the kernel send small messages at once, detect a peer whose machine is gone, and
/// recover soon after a network outage.
void set_tcp_options(int fd);

/// Waits until `fd` can be read or written. Returns false if `until` came first.
bool wait_for(int fd, bool to_write, std::chrono::steady_clock::time_point until);

/// Tries once to connect and returns a non-blocking socket. On failure returns an empty
/// UniqueFd and sets `error`.
UniqueFd connect_to(const std::string& host, std::uint16_t port,
                    std::chrono::steady_clock::time_point until, std::string& error);

} // namespace fiber::wire
