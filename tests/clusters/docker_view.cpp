// SPDX-License-Identifier: Apache-2.0
#include "tests/clusters/docker_view.hpp"

namespace fiber::clusters {

using nlohmann::json;

backends::http::Reply DockerView::ask(const std::string& method, const std::string& path,
                                      const json& body) {
  return engine_.client().call(body.is_null() ? engine_.request(method, path)
                                              : engine_.request(method, path, body));
}

std::vector<std::string> DockerView::list(const json& filters) {
  std::vector<std::string> ids;
  auto reply = ask("GET", "/containers/json?all=1&filters=" +
                            backends::http::escape(filters.dump()));
  auto told = json::parse(reply.body, nullptr, false);
  if (reply.ok() && told.is_array())
    for (auto& container : told)
      ids.push_back(container.value("Id", ""));
  return ids;
}

std::vector<std::string> DockerView::containers(const std::string& session) {
  auto all =
    list({{"label", {session.empty() ? "fiber.session" : "fiber.session=" + session}}});
  // One that was just being removed when the engine started anew may be listed for good,
  // as dead, though it is known by no other call.
  std::erase_if(all, [&](auto& id) { return inspect(id).is_null(); });
  return all;
}

std::vector<std::string> DockerView::running() {
  return list({{"label", {"fiber.session"}}, {"status", {"running"}}});
}

json DockerView::inspect(const std::string& id) {
  auto reply = ask("GET", "/containers/" + id + "/json");
  auto told = json::parse(reply.body, nullptr, false);
  return reply.ok() && told.is_object() ? told : json();
}

std::string DockerView::state(const std::string& id) {
  auto told = inspect(id);
  return told.is_null() ? "" : told["State"].value("Status", "");
}

int DockerView::order(const std::string& id, const std::string& what) {
  return ask("POST", "/containers/" + id + "/" + what).status;
}

} // namespace fiber::clusters
