// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "fiber/error.hpp"

namespace fiber {

/// Returns how the first worker ended, the only one where an object or a process was
/// lost: its exit code, -N for signal N, or nothing if that is unknown.
inline std::optional<int> exit_of(const WorkerLost& lost) {
  return lost.exits().empty() ? std::nullopt : lost.exits().front();
}

} // namespace fiber
