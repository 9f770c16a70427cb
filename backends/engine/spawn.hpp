// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace fiber::backends {

/// Returns whether this user may run the file.
bool is_program(const std::string& file);
/// Returns the path of a program in the absolute folders of $PATH. Relative folders are
/// left out: the current folder must not choose the program. If there is none, returns an
/// empty string and sets errno, to EACCES if there is a file that may not be run.
std::string find_in_path(const std::string& name);

/// A program to be started as a child of this process.
struct ChildProgram {
  /// A path, or a name that find_in_path() looks up.
  std::string executable = {};
  std::vector<std::string> argv = {};        ///< With its own name.
  std::vector<std::string> environment = {}; ///< All of it, NAME=VALUE.
  int input = -1;               ///< Becomes its stdin; -1: it reads /dev/null.
  int output = -1, errors = -1; ///< Become its stdout and stderr; -1: ours.
  int inherited = -1;           ///< One more descriptor for it; -1: none.
  /// It shares our stdin, terminal and process group. Otherwise it has a process group of
  /// its own.
  bool interactive = false;
  bool new_session = false; ///< Away from this terminal; not `interactive`.
  /// Signals that it blocks; those that we ignore stay ignored. Null: none is blocked and
  /// each is at its default action.
  const sigset_t* mask = nullptr;
};

/// Starts the program. The cost does not depend on the size of this process. Sets `pid`
/// and returns 0, or returns errno.
int spawn_child(const ChildProgram& program, pid_t& pid);

} // namespace fiber::backends
