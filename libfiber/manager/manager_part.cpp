// SPDX-License-Identifier: Apache-2.0
#include "libfiber/manager/manager_part.hpp"

#include <map>
#include <optional>

#include "libfiber/observer/function_name.hpp"

namespace fiber::detail {
namespace {

using nlohmann::json;
using Glance = actors::ManagedObjects::Glance;

const char* state_text(Glance::State state) {
  switch (state) {
  case Glance::State::starting:
    return "starting";
  case Glance::State::up:
    return "up";
  case Glance::State::lost:
    return "lost";
  case Glance::State::ended:
    return "ended";
  }
  return "";
}

json entry(const std::string& name, const Glance& seen) {
  std::size_t all = 0;
  std::map<std::string, std::size_t> types; // Constructors make the same type.
  for (auto& [maker, objects] : seen.objects) {
    all += objects;
    types[observer::made_type(maker)] += objects;
  }
  auto list = json::array();
  for (auto& [type, objects] : types)
    list.push_back({{"type", type}, {"objects", objects}});
  return {{"name", name},
          {"state", state_text(seen.state)},
          {"objects", all},
          {"types", std::move(list)},
          {"calls", seen.calls},
          {"running", seen.running},
          {"waiting", seen.waiting},
          {"restarts", seen.restarts}};
}

} // namespace

bool ManagerPart::gone() const {
  auto objects = objects_.lock();
  return !objects || objects->glance().state == Glance::State::ended;
}

observer::Part::Answer ManagerPart::look() {
  auto objects = objects_.lock();
  if (!objects)
    return nullptr;
  // Nothing to wait for: the answer is in this process.
  return [all = entry(name_, objects->glance())](
           observer::Clock::time_point) -> std::optional<json> { return all; };
}

} // namespace fiber::detail
