// SPDX-License-Identifier: Apache-2.0
// base/ is the lowest layer: bytes, packed values, callables, errors and the log. It
// includes nothing above it.
#pragma once

#include <vector>

#include <spdlog/spdlog.h>

namespace fiber {

/// Returns this process's logger, named "fiber", which writes to stderr.
spdlog::logger& log();

/// The logger's pattern, unless the program has registered a logger of that name.
inline constexpr auto log_pattern = "[%H:%M:%S.%e] [%n] %^%l%$: %v";

/// Returns the logger's original sinks.
const std::vector<spdlog::sink_ptr>& log_sinks();
/// Returns whether the program registered the logger.
bool log_is_the_programs();

/// Redirects log records to `to`; null restores the original sinks. Other threads may log
/// meanwhile.
void redirect_log(spdlog::sink_ptr to);

} // namespace fiber
