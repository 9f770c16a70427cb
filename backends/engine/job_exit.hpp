// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace fiber::backends {

/// How a job ended.
struct Exit {
  std::optional<int> code; ///< 0..255, -N for signal N, nothing if unknown.
  std::string detail;      ///< "exit code 1", "killed by SIGSEGV", "exit unknown (..)".

  static Exit known(int code);
  static Exit unknown(const std::string& why);
};

} // namespace fiber::backends
