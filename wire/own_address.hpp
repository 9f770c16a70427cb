// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::wire {

/// The address of this machine from which it reaches `host`, as a number. Throws
/// WireError if there is no way to it.
std::string own_address_towards(const std::string& host);

/// Whether that is an address, or a name, at which a machine reaches nobody but itself.
/// Throws WireError if the name is not known.
bool is_loopback(const std::string& host);

} // namespace fiber::wire
