// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fiber {

/// What a pool has done so far.
struct PoolStats {
  std::size_t workers = 0; ///< Up and taking tasks.
  std::size_t queued = 0;  ///< Tasks that wait in the driver.
  std::size_t running = 0; ///< Tasks handed to workers, started or not.
  std::size_t done = 0;    ///< Tasks that ended with a value.
  std::size_t failed = 0;  ///< Tasks that ended otherwise.
  std::size_t retries =
    0; ///< Tasks that were handed out again after a loss or an exception.
  std::size_t workers_lost = 0; ///< Workers that ended unasked.
  std::size_t late = 0; ///< Results refused, since their worker had been declared dead.
  std::uint64_t bytes_sent =
    0; ///< Arguments, callables and shared values, to all workers.
  std::uint64_t bytes_received = 0; ///< Results.
  std::chrono::microseconds p50{0}; ///< Time a task runs, median and
  std::chrono::microseconds p99{0}; ///< 99th percentile, over frames of results.
};

} // namespace fiber
