// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fiber::actors {

/// What observers see of a ring. Its actor and its board write it; any thread may read
/// it.
struct RingProgress {
  std::atomic<int> attempt = 0;         ///< The present one; the first is 1.
  std::atomic<std::size_t> running = 0; ///< Members whose job has not ended.
  /// The collectives of the present attempt, as rank 0 has reported them.
  std::atomic<std::uint64_t> collectives = 0;
};

} // namespace fiber::actors
