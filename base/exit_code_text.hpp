// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace fiber {

/// Returns an end as error texts show it: "exit code 3", "signal 9" for -9, "exit
/// unknown".
inline std::string exit_code_text(std::optional<int> exit) {
  if (!exit)
    return "exit unknown";
  return *exit < 0 ? "signal " + std::to_string(-*exit)
                   : "exit code " + std::to_string(*exit);
}

} // namespace fiber
