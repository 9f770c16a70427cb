// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/docker/container.hpp"
#include "cli/docker/client.hpp"
#include "cli/engines/left.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::docker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds end_limit{20};
constexpr std::chrono::milliseconds look_again{200};
constexpr std::size_t shown_letters = 12; // Of an id, as docker(1) shows it.

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

std::vector<std::string> find(const std::string& session) {
  Client client(configured_host());
  auto ids = containers_of(client, session);
  for (auto& id : ids)
    id = "container " + id.substr(0, shown_letters);
  return ids;
}

/// Asks again and again: Podman refuses to remove a container that is just ending.
void remove(const std::string& session) {
  Client client(configured_host());
  std::string refusal;
  for (auto end = Clock::now() + end_limit;;) {
    auto ids = containers_of(client, session);
    if (ids.empty())
      return;
    if (Clock::now() >= end && !refusal.empty())
      throw Error(refusal);
    if (Clock::now() >= end)
      return;
    for (auto& id : ids)
      if (auto reply = client.ask("DELETE", "/containers/" + id + "?force=1&v=1");
          !reply.ok())
        refusal = "remove container " + id.substr(0, shown_letters) + ": " +
                  backends::docker::problem(reply);
    std::this_thread::sleep_for(look_again);
  }
}

} // namespace

} // namespace fiber::cli::docker

namespace fiber::cli {

LeftTools docker_left() {
  return {.engine = "docker", .find = docker::find, .remove = docker::remove};
}

} // namespace fiber::cli
