// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fiber::backends::ssh {

/// FIBER_NODE of a process that starts its program as a driver on another machine is
/// "ssh-driver:REQUEST".
inline constexpr auto remote_driver_role = "ssh-driver";

/// Begins the message of an error. Only files of programs that can be started so have it.
extern const char remote_driver_error[];

/// Where and how to run a driver.
struct RemoteDriver {
  std::string host;
  std::vector<std::string> command{"ssh"};        ///< With options of the user's.
  std::string directory = "~/.cache/fiber";       ///< There, for the copy.
  std::map<std::string, std::string> environment; ///< Of the driver.
};

/// Returns the value of FIBER_NODE for it.
std::string node_variable(const RemoteDriver& driver);

/// Copies this program to the host that the request names, runs the program there with
/// this process's arguments, and passes stdin, stdout, stderr and signals on. Has a
/// terminal there if stdin, stdout and stderr are one here. Ends with the driver's exit
/// code, 128 + N for signal N, or 255 with a message on stderr. If this process or its
/// parent is killed, the driver is ended by SIGTERM, and 10 s later by SIGKILL.
[[noreturn]] void run_remote_driver(const std::string& request);

} // namespace fiber::backends::ssh
