// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "base/unique_fd.hpp"
#include "wire/link.hpp"

namespace fiber::wire {

class Reactor;

/// A link over a connected stream socket that nobody else can reach (an inherited socket
/// pair): no encryption, no handshake.
std::shared_ptr<Link> adopt(Reactor& reactor, UniqueFd socket, LinkOptions options = {});

/// Two ends in this process, without a socket: a message sent at one end is handed to the
/// other end's handler by the sending thread itself.
std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> loopback();

} // namespace fiber::wire
