// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

namespace fiber::cli {

/// Descriptors and variables of a child process.
struct ChildOptions {
  int in = -1, out = -1, err = -1; ///< -1: as this process has it.
  const sigset_t* mask = nullptr;  ///< Signals that it blocks; null: as this process.
  bool new_session = false;        ///< Away from this terminal.
  std::map<std::string, std::string> environment = {}; ///< Added to this process's.
};

/// Starts a program, which is looked up in $PATH. Throws Error if it can't be started,
/// which names the program.
pid_t start_child(const std::vector<std::string>& command, const ChildOptions& options);

/// Waits for the end of a child. Returns its exit code, 128 + N for signal N.
int wait_for_child(pid_t child);

/// Runs a program with `input` at its stdin. Throws Error if it fails; what it wrote to
/// stderr is the reason. Returns what it wrote to stdout.
std::string output_of(const std::vector<std::string>& command,
                      const std::string& input = {});

} // namespace fiber::cli
