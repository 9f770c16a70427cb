// SPDX-License-Identifier: Apache-2.0
#include "backends/job_entry.hpp"

#include <cstdlib>

#include "backends/registry.hpp"

namespace fiber::backends {

std::optional<JobEntry> enter_job() {
  const char* variable = std::getenv("FIBER_NODE");
  if (!variable)
    return {};
  std::string node = variable;
  ::unsetenv("FIBER_NODE");
  auto colon = node.find(':');
  auto role = node.substr(0, colon);
  auto rest = colon == node.npos ? "" : node.substr(colon + 1);
  for (auto& kind : backend_kinds())
    if (auto entry = kind.enter(role, rest))
      return entry;
  throw EngineError("enter job", 0,
                    "FIBER_NODE is \"" + node +
                      "\", which no backend of this build sets");
}

} // namespace fiber::backends
