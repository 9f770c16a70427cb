// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "rl/export/exported_policy.hpp"

namespace fiber::rl::exporting {

/// The text of a function in C99 that acts as a policy does, after its constants.
struct CFunction {
  std::string text;
  std::size_t constants = 0; ///< How many floats are constant.
  std::size_t buffers = 0;   ///< How many floats are on the stack.
};

/// All names in the text begin with `prefix` and "_".
CFunction c_function(const std::string& prefix, const ExportedPolicy& policy);

} // namespace fiber::rl::exporting
