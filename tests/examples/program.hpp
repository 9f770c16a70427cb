// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

/// A program under test, started with its output on a pipe. Killed with this object.
class Program {
public:
  explicit Program(std::vector<std::string> command);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// The next line of its stdout and stderr; nothing when all that held them are gone.
  std::optional<std::string> line();

  /// All that is left of its output.
  std::string rest();

  void kill(int signal);

  /// Its exit code, or -N if signal N ended it.
  int wait();

private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string pending_;
};
