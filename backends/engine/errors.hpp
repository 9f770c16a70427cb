// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/backend.hpp"

namespace fiber::backends {

/// Describes the error of a system call. For a reached limit it says how to raise it.
EngineError engine_error(std::string operation, int error);

} // namespace fiber::backends
