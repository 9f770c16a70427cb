// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/unique_fd.hpp"
#include "wire/link.hpp"

namespace fiber::wire {

class Reactor;
class Transport;

/// Returns a link over `transport`, whose other end must be a link too.
std::shared_ptr<Link> link_over(Reactor& reactor, std::unique_ptr<Transport> transport,
                                const LinkOptions& options);

/// Returns a link over a connected stream socket that no stranger can reach, such as an
/// inherited socket pair. Without encryption and handshake.
std::shared_ptr<Link> adopt(Reactor& reactor, UniqueFd socket, LinkOptions options = {});

/// Returns the two ends of a link within this process, without a socket: the sending
/// thread itself calls the other end's handler.
std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> loopback();

/// Returns the numeric address of the host at the other end; empty unless the link is one
/// over TCP.
std::string peer_host(const Link& link);

} // namespace fiber::wire
