// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "fiber/config.hpp"

namespace fiber {

/// A Config with every question answered.
struct Settings {
  std::string backend = "auto";
  std::size_t workers_start_window = 64;
  std::chrono::milliseconds heartbeat_timeout{10000};
  std::chrono::milliseconds lease{60000};
  std::chrono::milliseconds start_deadline{60000};
  std::string link = "auto";
  bool forward_output = true;
  std::string log_level = "warn";
  std::string zygote = "auto";
};

/// Code before environment before .fiberconfig in `directory` before defaults. Throws
/// ConfigError; warns of FIBER_* variables that are no settings.
Settings resolve(const Config& code, const std::string& directory = ".");

} // namespace fiber
