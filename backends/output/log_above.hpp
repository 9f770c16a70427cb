// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <spdlog/sinks/sink.h>

#include "backends/output/status_lines.hpp"

namespace fiber::backends {

/// Returns the sink of log() while there are status lines, above which it writes. Logging
/// does not wait for the terminal, except if the program has a logger of its own, as
/// before.
spdlog::sink_ptr log_above(std::shared_ptr<StatusLines> lines);

/// The two implementations: the first has `lines` print the text as soon as stderr
/// accepts it; the second calls `sinks` while the lines are hidden.
spdlog::sink_ptr print_above(std::shared_ptr<StatusLines> lines);
spdlog::sink_ptr write_above(std::shared_ptr<StatusLines> lines,
                             std::vector<spdlog::sink_ptr> sinks);

} // namespace fiber::backends
