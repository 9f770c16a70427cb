// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fiber::backends::local {

/// The driver's own program, as it was started.
struct Program {
  std::string executable;               ///< Empty: /proc/self/exe.
  std::vector<std::string> argv;        ///< Empty: as in /proc/self/cmdline.
  std::vector<std::string> environment; ///< NAME=VALUE.

  /// Fills in what is empty; the environment is that of now. Throws EngineError.
  static Program resolve(std::string executable, std::vector<std::string> argv);
};

/// Runs `program` in a process group of its own, with stdout and stderr going to `output`
/// and FIBER_NODE set to "`role`:`control`", `control` being an inherited descriptor.
/// However large the driver is, nothing of it is copied. Throws EngineError.
pid_t spawn(const Program& program, const std::string& role, int control, int output);

} // namespace fiber::backends::local
