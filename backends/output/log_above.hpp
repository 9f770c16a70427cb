// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <spdlog/sinks/sink.h>

#include "backends/output/status_lines.hpp"

namespace fiber::backends {

/// Where log() writes while there are lines: above them. Nobody waits for the terminal,
/// unless the program has a logger of its own: then who logs does, as it would have.
spdlog::sink_ptr log_above(std::shared_ptr<StatusLines> lines);

/// The two ways: text that the lines print as soon as stderr takes it; the sinks
/// themselves, with no lines there meanwhile.
spdlog::sink_ptr print_above(std::shared_ptr<StatusLines> lines);
spdlog::sink_ptr write_above(std::shared_ptr<StatusLines> lines,
                             std::vector<spdlog::sink_ptr> sinks);

} // namespace fiber::backends
