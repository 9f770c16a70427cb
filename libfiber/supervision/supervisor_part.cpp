// SPDX-License-Identifier: Apache-2.0
#include "libfiber/supervision/supervisor_part.hpp"

#include <optional>

namespace fiber::detail {
namespace {

using nlohmann::json;

const char* strategy_text(Strategy strategy) {
  switch (strategy) {
  case Strategy::one_for_one:
    return "one_for_one";
  case Strategy::one_for_all:
    return "one_for_all";
  case Strategy::rest_for_one:
    return "rest_for_one";
  }
  return "";
}

json entry(const SupervisorCore& core) {
  json all{{"name", core.name()},
           {"strategy", strategy_text(core.strategy())},
           {"children", json::array()}};
  auto nested = core.nested_cores();
  for (auto& child : core.children()) {
    json one{{"name", child.name},
             {"alive", child.alive},
             {"restarts", child.restarts},
             {"last_error", child.last_error}};
    for (auto& below : nested)
      if (below->name() == child.name) {
        auto tree = entry(*below);
        one["strategy"] = tree.at("strategy");
        one["children"] = tree.at("children");
      }
    all["children"].push_back(std::move(one));
  }
  return all;
}

} // namespace

observer::Part::Answer SupervisorPart::look() {
  // Nothing to wait for: the answer is in this process.
  return [weak = core_](observer::Clock::time_point) -> std::optional<json> {
    auto core = weak.lock();
    return core ? std::optional(entry(*core)) : std::nullopt;
  };
}

} // namespace fiber::detail
