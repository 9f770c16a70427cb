// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

// A child that the program forks has the parent's memory and descriptors, and only one of
// its threads. It must not use the parent's session: it would take bytes of the parent's
// links, and wait for threads that it does not have.

namespace fiber {

namespace detail {
inline std::atomic<bool> forked_child = false;
}

/// Whether this process was forked by one that had called note_forks().
inline bool is_forked_child() {
  return detail::forked_child.load(std::memory_order_relaxed);
}
/// Makes the children of this process forked children, and this process none.
void note_forks();
/// Does nothing unless this is a forked child. Such a child says that it has left `what`,
/// a function of the program, and ends: only its parent may report for that function.
void end_if_forked_child(const char* what);
/// Throws Closed if this is a forked child.
void check_not_forked();

} // namespace fiber
