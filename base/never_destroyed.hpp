// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace fiber {

/// Makes the value of a function's static, which is never destroyed. A program may keep
/// its session in a static object that is older, and whose destructor therefore runs
/// later: what the session needs to its end must still be there.
template <class T, class... Args>
T* never_destroyed(Args&&... args) {
  return new T(std::forward<Args>(args)...); // NOLINT(cppcoreguidelines-owning-memory)
}

} // namespace fiber
