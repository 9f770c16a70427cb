// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include <sys/types.h>

namespace fiber::observer {

/// What processes of this machine use, read from /proc when it is asked for, each process
/// at most every two seconds.
///
/// Thread safety: any thread may call any member function.
class ProcessUse {
public:
  struct Use {
    double cpu_seconds = 0;         ///< Of user and system since its start.
    std::uint64_t memory_bytes = 0; ///< Resident.
  };

  /// Returns nothing if there is no such process.
  std::optional<Use> of(pid_t pid);

private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    Clock::time_point at;
    std::optional<Use> use;
  };

  std::mutex mutex_;
  std::map<pid_t, Known> known_;
};

} // namespace fiber::observer
