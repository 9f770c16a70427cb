// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/strangers.hpp"

#include <cstdlib>
#include <ctime>
#include <vector>

#include <curl/curl.h>
#include <nlohmann/json.hpp>

#include "backends/docker/container.hpp"
#include "wire/log.hpp"

namespace fiber::backends::docker {

namespace {

using nlohmann::json;

/// By the engine's clock, which made the dates it tells.
std::time_t engine_time(const http::Reply& reply) {
  auto date = reply.headers.find("date");
  auto time =
    date == reply.headers.end() ? -1 : curl_getdate(date->second.c_str(), nullptr);
  return time < 0 ? std::time(nullptr) : time;
}

} // namespace

void remove_strangers(Engine& engine, const std::string& own_session) {
  json filters{{"label", {session_label}}, {"status", {"created", "exited", "dead"}}};
  auto reply = engine.client().call(engine.request(
    "GET", "/containers/json?all=1&filters=" + http::escape(filters.dump())));
  auto containers = json::parse(reply.body, nullptr, false);
  if (!reply.ok() || !containers.is_array()) {
    log().warn("docker: can't look for what dead drivers have left: {}", problem(reply));
    return;
  }
  auto now = engine_time(reply);
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
