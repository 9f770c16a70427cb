// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace fiber::backends {

/// Returns the numeric address from which this machine reaches `host`; empty if the host
/// is unknown or there is no route. Sends it nothing.
std::string address_towards(const std::string& host);

/// Connects to "HOST:PORT" and closes the connection. Returns an empty string, or why
/// that failed, in the system's words.
std::string problem_of_reaching(const std::string& address,
                                std::chrono::milliseconds limit);

} // namespace fiber::backends
