// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/docker/container.hpp"
#include "cli/docker/client.hpp"
#include "cli/engines/left.hpp"

namespace fiber::cli::docker {
namespace {

std::vector<std::string> containers_of(Client& client, const std::string& session) {
  nlohmann::json filters{
    {"label", {std::string(backends::docker::session_label) + "=" + session}}};
  auto told = Client::json_of(client.ask("GET", "/containers/json?all=1&filters=" +
                                                  backends::http::escape(filters.dump())),
                              "list the containers of session " + session);
  std::vector<std::string> ids;
  for (auto& container : told)
    ids.push_back(backends::docker::text(container, {"Id"}));
  return ids;
}

std::string text_of(const std::string& id) {
  return "container " + short_id(id);
}

/// Podman refuses to remove a container that is just ending.
std::string remove_containers(Client& client, const std::vector<std::string>& ids) {
  std::string refusal;
  for (auto& id : ids)
    if (auto reply = client.ask("DELETE", "/containers/" + id + "?force=1&v=1");
        !reply.ok())
      refusal = "remove " + text_of(id) + ": " + backends::docker::problem(reply);
  return refusal;
}

} // namespace

Left left_of(const std::string& session) {
  auto client = std::make_shared<Client>(configured_host());
  auto ids = [=] { return containers_of(*client, session); };
  return {.list =
            [=] {
              auto all = ids();
              std::ranges::transform(all, all.begin(), text_of);
              return all;
            },
          .remove = [=](bool) { return remove_containers(*client, ids()); },
          .end_limit = std::chrono::seconds(20)};
}

} // namespace fiber::cli::docker
