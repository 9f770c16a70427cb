// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fiber::backends::ssh {

/// How the user's ssh is run.
struct SshCommand {
  std::vector<std::string> words; ///< "ssh", "-F", "/my/config".
  std::string control;            ///< The socket by which commands share a connection.

  /// Returns the words of the command that opens the connection to `host` and runs
  /// `command` there. It never asks anything on the terminal, and forwards nothing that
  /// the user's configuration asks to forward.
  std::vector<std::string> open(const std::string& host,
                                const std::string& command) const;
  /// The same over the open connection. With `terminal`, the command has one.
  std::vector<std::string> run(const std::string& host, const std::string& command,
                               bool terminal = false) const;
  /// Returns the words of the command that forwards a free port of the host's loopback
  /// address to `address`, and prints that port.
  std::vector<std::string> forward(const std::string& host,
                                   const std::string& address) const;
  /// Returns why one of these commands has failed and what the user can do, from what it
  /// wrote to stderr.
  std::string problem(const std::string& host, const std::string& errors,
                      std::optional<int> exit_code) const;
};

/// Returns the host name that ssh connects to for `host`, from the answer of `ssh -G`;
/// empty if it has none.
std::string host_name_in(const std::string& configuration);

/// Returns the folder for the sockets of connections, which only this user can enter.
/// Makes it. Throws EngineError.
std::string control_folder();

} // namespace fiber::backends::ssh
