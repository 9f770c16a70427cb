// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/loaded_object.hpp"

namespace fiber {

/// Whether a function begins at `at`, as the object's unwind information or its dynamic
/// symbols say; neither needs debug information. Unwind information also lists the cold
/// parts that a compiler has moved out of functions: those do not count that run on a
/// frame of their function. A function of another library whose address a program at a
/// fixed place has taken begins in that program's own jump table.
bool begins_function(const LoadedObject& object, std::uintptr_t at);

} // namespace fiber
