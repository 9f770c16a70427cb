// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber {

/// Makes malloc keep large blocks that are freed: up to 32 MiB each, and up to 256 MiB at
/// the end of its heap. Messages and tasks allocate blocks of the same sizes again and
/// again. By default large ones come from the kernel each time, which clears their pages:
/// most of the cost of a task with a megabyte of arguments. Does nothing if the program
/// or its environment has set malloc's thresholds.
void keep_freed_memory();

} // namespace fiber
