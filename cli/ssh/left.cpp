// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/left.hpp"

namespace fiber::cli::ssh {

/// A killed driver leaves nothing: its connections end with it, and the agents and jobs
/// with these.
Left left_of(const std::string&) {
  return {.list = [] { return std::vector<std::string>(); },
          .remove = [](bool) { return std::string(); },
          .end_limit = {}};
}

} // namespace fiber::cli::ssh
