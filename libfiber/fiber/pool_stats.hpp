// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fiber {

/// What a pool has done so far. docs/looking-inside.md says more of each number.
struct PoolStats {
  std::size_t workers = 0; ///< Up and taking tasks.
  std::size_t queued = 0;  ///< Tasks that wait in the driver.
  /// Tasks handed to workers, started or not, second copies as well; also those that were
  /// cancelled and run on.
  std::size_t running = 0;
  std::size_t done = 0;       ///< Tasks that ended with a value.
  std::size_t failed = 0;     ///< Tasks that ended otherwise.
  std::size_t retries = 0;    ///< Runs after the first, for a loss or an exception.
  std::size_t speculated = 0; ///< Second copies of slow tasks (MapOptions::speculate).
  /// Jobs, of workers_per_job workers each, that ended unasked or never became ready.
  std::size_t workers_lost = 0;
  /// Results refused, since their worker had been declared dead, or another copy of the
  /// task had ended it.
  std::size_t late = 0;
  /// Arguments, callables, initializers and shared values, to all workers.
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0; ///< Results, late ones too.
  /// Time that a task runs in its worker, without waiting and travelling: median and 99th
  /// percentile over all tasks, within 13 %. Of short tasks that were reported together
  /// all but the longest count with their mean.
  std::chrono::microseconds p50{0};
  std::chrono::microseconds p99{0};
};

} // namespace fiber
