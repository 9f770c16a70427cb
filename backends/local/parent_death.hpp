// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace fiber::backends::local {

/// From here on this process ends when `parent` does, and so does its process group if it
/// leads one, be it stopped or not. Returns false if the parent is gone already.
///
/// Takes the signal SIGCONT, unless the program has a handler for it: then the parent's
/// death only wakes this process up, to find its link closed.
bool end_with_parent(pid_t parent);

} // namespace fiber::backends::local
