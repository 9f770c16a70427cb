// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fiber::detail {

/// The kinds of synchronisation objects.
enum class SyncKind : std::uint8_t {
  lock,
  rlock,
  semaphore,         ///< n: how many may have it at first
  bounded_semaphore, ///< n: how many may have it, ever
  event,
  condition,
  barrier ///< n: how many parties
};

/// What is asked of one.
enum class SyncOp : std::uint8_t {
  // Of what can be held: all but events and barriers.
  acquire,     ///< answered when the asker has it
  try_acquire, ///< whether the asker has it now
  release,     ///< n: how many permits
  // Of events, conditions and barriers.
  wait, ///< conditions: whether it was notified; barriers: the place in the arrival
  // Of events.
  set,
  clear,
  is_set,
  // Of conditions.
  notify, ///< n: how many
  // Of barriers.
  abort,
  reset,
  is_broken,
  count_waiting
};

} // namespace fiber::detail
