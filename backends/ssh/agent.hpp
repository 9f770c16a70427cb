// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::backends::ssh {

/// FIBER_NODE of an agent is "ssh-agent:NUMBER".
inline constexpr auto agent_role = "ssh-agent";

/// Turns this process into the agent of its host: it runs the jobs that the driver asks
/// for on stdin, and reports on stdout. Ends with the connection, or when it has heard
/// nothing for the lease; the jobs end with it. First writes a line with `number`, since
/// the program may have written to stdout before.
[[noreturn]] void run_agent(const std::string& number);

} // namespace fiber::backends::ssh
