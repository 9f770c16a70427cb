// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace fiber::backends {

/// Returns whether a variable of the environment is a setting that only the driver may
/// have: it holds a secret of the driver, or names a file or an address that a driver in
/// a job, or a program that a task starts, must not use as well. Jobs never have it.
inline bool is_for_driver_only(std::string_view variable) {
  constexpr std::array names{"FIBER_METRICS", "FIBER_REPORT", "FIBER_TRACE"};
  return variable.starts_with("FIBER_DASHBOARD") ||
         std::ranges::find(names, variable) != names.end();
}

/// The same for NAME=VALUE.
inline bool sets_driver_only(std::string_view entry) {
  return is_for_driver_only(entry.substr(0, entry.find('=')));
}

} // namespace fiber::backends
