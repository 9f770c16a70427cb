// SPDX-License-Identifier: Apache-2.0
#include "wire/log.hpp"

#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>

namespace fiber {

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = spdlog::get("fiber"); // A program may have registered its own.
    if (!made) {
      made = spdlog::stderr_color_mt("fiber");
      made->set_pattern("[%H:%M:%S.%e] [%n] %^%l%$: %v");
    }
    return made;
  }();
  return *logger;
}

} // namespace fiber
