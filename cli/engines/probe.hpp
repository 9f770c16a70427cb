// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "cli/engines/report.hpp"
#include "fiber/config.hpp"

namespace fiber::cli {

/// Opens a session on an engine and lets a job of this program answer: the checks
/// "session", "job starts" and "job dials back". `advice` says what to do about an error,
/// from its words, or nothing: then general advice is given.
void probe(const std::string& engine, const Config& config, Report& report,
           const std::function<std::string(const std::string& problem)>& advice);

} // namespace fiber::cli
