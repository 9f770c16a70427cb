// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/output/status_lines.hpp"
#include "backends/ssh/hosts.hpp"

namespace fiber::backends {

namespace ssh {

/// Descriptors of the driver that a job takes: its link.
inline constexpr std::size_t descriptors_per_job = 1;

} // namespace ssh

/// Whether jobs reach the driver through a tunnel of the ssh connection.
enum class SshTunnel {
  when_needed, ///< If the host can't connect to the driver's address.
  always,
  never
};

/// Options of the ssh backend.
struct SshOptions {
  std::vector<ssh::HostEntry> hosts;
  std::vector<std::string> command{"ssh"};  ///< With options of the user's.
  std::string directory = "~/.cache/fiber"; ///< On the hosts, for copies of the program.
  SshTunnel tunnel = SshTunnel::when_needed;
  std::map<std::string, std::string> environment; ///< For jobs.
  bool hide_gpus = true;      ///< A job that asks for no GPU sees none.
  bool forward_output = true; ///< Copy jobs' output to our stderr, with names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Destination; null: a new one.
  std::chrono::milliseconds lease{60000};
  std::string session = {}; ///< Marks the processes of the session; empty: none.
};

/// Throws EngineError if the command that connects is not there.
void check_ssh_command(const SshOptions& options);

/// Makes a backend whose jobs are processes on other machines. On each, an agent runs
/// them as make_local() does; it is this program, started by the user's ssh, and copied
/// there if it is not there yet.
///
/// Begins to connect at once, and does not wait for it. A host that can't be reached is
/// named in the log and tried again. Throws EngineError: there is no ssh.
std::unique_ptr<Backend> make_ssh(const SshOptions& options);

} // namespace fiber::backends
