// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fiber {

/// What a pool is doing, and what it has done since it was made.
/// docs/how-to/look-inside-a-program.md says more about each number.
struct PoolStats {
  /// Workers that are up and take tasks.
  std::size_t workers = 0;
  /// Tasks that wait in the driver.
  std::size_t queued = 0;
  /// Tasks that workers run: at most one per worker. Copies of stragglers count, and so
  /// do cancelled tasks that still run.
  std::size_t running = 0;
  /// Tasks that workers have received and not started.
  std::size_t prefetched = 0;
  /// Tasks that ended with a value.
  std::size_t done = 0;
  /// Tasks that ended with an error.
  std::size_t failed = 0;
  /// Runs of tasks after their first run, because of a lost worker or an exception.
  std::size_t retries = 0;
  /// Copies of stragglers: MapOptions::speculate.
  std::size_t speculated = 0;
  /// Jobs that ended unplanned, or never became ready; each has workers_per_job workers.
  std::size_t workers_lost = 0;
  /// Results that were ignored, because the driver had declared their worker dead, or
  /// another copy of the task had ended first.
  std::size_t late = 0;
  /// Bytes of arguments, callables, initializers and shared values, to all workers.
  std::uint64_t bytes_sent = 0;
  /// Bytes of results, late ones included.
  std::uint64_t bytes_received = 0;
  /// Median and 99th percentile, over all tasks, of the time that a task runs in its
  /// worker, without waiting and travelling; within 13 %. If short tasks were reported
  /// together, all but the longest count with their mean.
  std::chrono::microseconds p50{0};
  std::chrono::microseconds p99{0};
};

} // namespace fiber
