// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <spdlog/spdlog.h>

namespace fiber {

/// The one logger of this process, named "fiber"; writes to stderr.
spdlog::logger& log();

/// How it writes if the program has not registered a logger of its own by that name.
inline constexpr auto log_pattern = "[%H:%M:%S.%e] [%n] %^%l%$: %v";

/// Where it writes by itself.
const std::vector<spdlog::sink_ptr>& log_sinks();
/// Whether those are the program's.
bool log_is_the_programs();

/// Has its records go there instead; null: where it writes by itself again. Other threads
/// may log meanwhile.
void redirect_log(spdlog::sink_ptr to);

} // namespace fiber
