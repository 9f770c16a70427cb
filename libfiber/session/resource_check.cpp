// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/resource_check.hpp"

#include <string>

#include <spdlog/fmt/fmt.h>

#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

std::string text(const Resources& resources) {
  return fmt::format("cpu {}, memory_mb {}, gpu {}", resources.cpu, resources.memory_mb,
                     resources.gpu);
}

} // namespace

void check_resources(const Resources& resources, const char* place) {
  if (!(resources.cpu > 0) || resources.gpu < 0)
    throw ConfigError("resources", place, "cpu more than 0, gpu 0 or more",
                      text(resources) + " can't be used");
}

void check_grant(const Resources& has, const Resources& asked, const char* whose) {
  if (asked.cpu > has.cpu || asked.gpu > has.gpu ||
      (has.memory_mb > 0 && asked.memory_mb > has.memory_mb))
    throw ConfigError("resources", "meta()",
                      std::string("at most what ") + whose + " has (" + text(has) + ")",
                      "the function asks for " + text(asked));
}

} // namespace fiber::detail
