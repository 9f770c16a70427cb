// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/backend_choice.hpp"

#include <algorithm>

#include "backends/registry.hpp"
#include "base/log.hpp"

namespace fiber::detail {
namespace {

const backends::BackendKind& kind_called(const std::string& name) {
  auto& kinds = backends::backend_kinds();
  return *std::ranges::find(kinds, name, &backends::BackendKind::name);
}

const backends::BackendKind& choose(const std::string& name) {
  if (name != "auto")
    return kind_called(name);
  for (auto& kind : backends::backend_kinds())
    if (auto reason = kind.detect(); !reason.empty()) {
      log().info("backend {}: {}", kind.name, reason);
      return kind;
    }
  log().info("backend local: no cluster was named, and this is no pod");
  return kind_called("local");
}

} // namespace

std::shared_ptr<backends::Backend>
make_backend(const Settings& settings, std::shared_ptr<backends::StatusLines> terminal) {
  return choose(settings.backend)
    .make({.values = settings.backend_values,
           .image = settings.image,
           .environment = settings.environment,
           .forward_output = settings.forward_output,
           .terminal = std::move(terminal),
           .lease = settings.lease});
}

} // namespace fiber::detail
