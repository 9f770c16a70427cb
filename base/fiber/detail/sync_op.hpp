// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fiber::detail {

/// The kinds of synchronisation objects.
enum class SyncKind : std::uint8_t {
  lock,
  rlock,
  semaphore,         ///< n: initial number of permits.
  bounded_semaphore, ///< n: initial and largest number of permits.
  event,
  condition,
  barrier ///< n: number of parties.
};

/// Requests to a synchronisation object.
enum class SyncOp : std::uint8_t {
  // Of objects that can be held: all but events and barriers.
  acquire,     ///< Answered when the requester has it.
  try_acquire, ///< Answers whether the requester has it now.
  release,     ///< n: number of permits.
  // Of events, conditions and barriers.
  wait, ///< Conditions: whether notified. Barriers: the place in order of arrival.
  // Of events.
  set,
  clear,
  is_set,
  // Of conditions.
  notify, ///< n: number of waiters.
  // Of barriers.
  abort,
  reset,
  is_broken,
  count_waiting
};

} // namespace fiber::detail
