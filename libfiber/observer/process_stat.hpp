// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace fiber::observer {

/// What /proc/PID/stat says of a process.
struct ProcessStat {
  char state = 0; ///< 'T' stopped, 'Z' ended and not waited for, ...
  pid_t parent = 0;
  double cpu_seconds = 0;
  std::uint64_t started = 0; ///< Clock ticks after the boot: tells processes of one pid.
  std::uint64_t memory_bytes = 0; ///< Resident.
};

/// Returns nothing if there is no such process.
std::optional<ProcessStat> stat_of(pid_t pid);

} // namespace fiber::observer
