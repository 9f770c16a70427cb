// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <netdb.h>

namespace fiber {

/// Returns the numeric address from which this machine reaches `target`. Connects a
/// datagram socket, which sends nothing. Returns an empty string and sets errno if there
/// is no route.
std::string address_on_route(const addrinfo& target);

} // namespace fiber
