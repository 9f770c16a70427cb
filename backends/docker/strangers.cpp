// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/strangers.hpp"

#include <cstdlib>
#include <ctime>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/docker/container.hpp"
#include "base/log.hpp"

namespace fiber::backends::docker {

using nlohmann::json;

void remove_strangers(Engine& engine, const std::string& own_session) {
  // Podman's state of a container that was attached to is "initialized"; each engine
  // rejects the other's words.
  json filters{{"label", {session_label}}, {"status", {"created", "exited"}}};
  filters["status"].push_back(engine.is_podman() ? "initialized" : "dead");
  auto reply = engine.client().call(engine.request(
    "GET", "/containers/json?all=1&filters=" + http::escape(filters.dump())));
  auto containers = json::parse(reply.body, nullptr, false);
  if (!reply.ok() || !containers.is_array()) {
    log().warn("docker: can't look for what dead drivers have left: {}", problem(reply));
    return;
  }
  auto now = time_of(reply);
  for (auto& container : containers) {
    auto lease = text(container, {"Labels", lease_label});
    if (text(container, {"Labels", session_label}) == own_session ||
        number(container, {"Created"}, now) + std::atol(lease.c_str()) > now)
      continue;
    auto id = text(container, {"Id"});
    log().info("docker: removing container {} of a driver that is gone",
               id.substr(0, 12));
    engine.client().call(engine.request("DELETE", "/containers/" + id + "?force=1&v=1"));
  }
}

} // namespace fiber::backends::docker
