// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace fiber::backends::slurm {

/// A small process beside the driver that outlives it. If the driver dies, it cancels
/// the jobs of the session, those that wait in Slurm's queue too, and removes the
/// session's folder.
class Guard {
public:
  /// Jobs whose name begins with `prefix` belong to the session. Throws EngineError.
  Guard(const std::string& prefix, const std::string& folder,
        const std::vector<std::string>& environment);
  /// Ends the process, which then does nothing.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  /// Leaves the session to the process, as if this one had died.
  void take_over();

private:
  pid_t pid_ = 0;
  UniqueFd driver_; ///< Closed by the kernel when this process dies.
};

} // namespace fiber::backends::slurm
