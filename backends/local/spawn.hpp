// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace fiber::backends::local {

/// The driver's program, as it was started.
struct Program {
  std::string executable;               ///< Empty: /proc/self/exe.
  std::vector<std::string> argv;        ///< Empty: /proc/self/cmdline.
  std::vector<std::string> environment; ///< NAME=VALUE.

  /// Replaces empty parameters by their defaults and adds the current environment. Throws
  /// EngineError.
  static Program resolve(std::string executable, std::vector<std::string> argv);
  /// Adds or replaces variables of the environment.
  void set(const std::map<std::string, std::string>& variables);
};

/// Runs `program` in a process group of its own, with stdout and stderr going to `output`
/// and FIBER_NODE set to "`role`:`control`", `control` being an inherited descriptor.
/// The driver's memory is not copied, whatever its size. Throws EngineError.
pid_t spawn(const Program& program, const std::string& role, int control, int output);

} // namespace fiber::backends::local
