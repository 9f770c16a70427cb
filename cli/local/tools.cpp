// SPDX-License-Identifier: Apache-2.0
#include "cli/local/local.hpp"

namespace fiber::cli {

EngineTools local_tools() {
  return {.name = "local",
          .detect = [] { return std::string("this machine"); },
          .diagnose = local::diagnose,
          .run = local::run,
          .copy = nullptr};
}

} // namespace fiber::cli
