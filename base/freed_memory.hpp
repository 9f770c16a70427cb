// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace fiber {

/// Makes malloc keep freed memory: blocks of up to 32 MiB, and up to `at_end` bytes at
/// the end of its heap. Messages and tasks allocate blocks of the same sizes again and
/// again. By default large ones come from the kernel each time, which clears their pages:
/// most of the cost of a task with a megabyte of arguments. Does nothing if the program
/// or its environment has set a threshold of malloc. To be called before threads start.
void keep_freed_memory(std::size_t at_end);

} // namespace fiber
