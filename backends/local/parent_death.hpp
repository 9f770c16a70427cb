// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace fiber::backends::local {

/// Makes this process, and its process group if it leads one, end when `parent` ends,
/// even while stopped. Returns false if the parent has ended already.
///
/// Handles SIGCONT, unless the program has a handler: then the parent's death only
/// continues this process, which finds its link closed.
bool end_with_parent(pid_t parent);

} // namespace fiber::backends::local
