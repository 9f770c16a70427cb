// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/backend.hpp"

namespace fiber::backends {

/// The error of a system call in words; a reached limit is named with its way out.
EngineError engine_error(std::string operation, int error);

} // namespace fiber::backends
