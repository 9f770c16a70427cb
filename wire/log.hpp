// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/spdlog.h>

namespace fiber {

/// The one logger of this process, named "fiber"; writes to stderr.
spdlog::logger& log();

} // namespace fiber
