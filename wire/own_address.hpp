// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::wire {

/// Returns the numeric address from which this machine reaches `host`. Throws WireError
/// if there is no route.
std::string own_address_towards(const std::string& host);

/// Returns whether `host`, an address or a name, is a loopback address. Throws WireError
/// if the name is unknown.
bool is_loopback(const std::string& host);

/// Returns whether the numeric address `host` is one of this machine. Throws WireError if
/// it is none.
bool is_own_address(const std::string& host);

/// Returns 127.0.0.1, or ::1 on a machine that has no IPv4.
std::string loopback_address();

} // namespace fiber::wire
