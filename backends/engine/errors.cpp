// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/errors.hpp"

#include "base/system_error_text.hpp"

namespace fiber::backends {

EngineError engine_error(std::string operation, int error) {
  return EngineError(std::move(operation), error, system_error_text(error));
}

} // namespace fiber::backends
