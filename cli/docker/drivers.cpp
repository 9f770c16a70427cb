// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/docker/client.hpp"
#include "cli/docker/docker.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::docker {
namespace {

using backends::docker::number;
using backends::docker::part;
using backends::docker::text;
using nlohmann::json;

constexpr int not_found = 404, not_running = 409;

std::vector<RemoteDriver> list(bool ended_too) {
  Client client(configured_host());
  json filters{{"label", {driver_label}}};
  auto path = "/containers/json?filters=" + backends::http::escape(filters.dump()) +
              (ended_too ? "&all=1" : "");
  auto told = Client::json_of(client.ask("GET", path), "list the containers of drivers");
  std::vector<RemoteDriver> all;
  for (auto& container : told) {
    auto id = text(container, {"Id"});
    auto name = container.value("/Names/0"_json_pointer, id);
    name.erase(0, name.find_first_not_of('/'));
    all.push_back({.engine = "docker",
                   .name = name,
                   .id = id,
                   .place = "container " + short_id(id),
                   .program = text(container, {"Labels", driver_label}),
                   .ended = text(container, {"State"}) != "running" &&
                            text(container, {"State"}) != "paused"});
  }
  std::ranges::reverse(all); // The engine lists the latest first.
  return all;
}

/// Returns the text of both streams.
std::string decoded(const std::string& frames) {
  std::string all;
  backends::docker::StreamDecoder().feed(frames, [&](auto piece) { all += piece; });
  return all;
}

std::string output(const RemoteDriver& driver) {
  Client client(configured_host());
  auto reply = client.ask("GET", "/containers/" + driver.id + "/logs?stdout=1&stderr=1");
  if (!reply.ok())
    throw Error("read the log of container " + driver.name + ": " +
                backends::docker::problem(reply));
  return decoded(reply.body);
}

/// The program of the driver is in its image whatever else is.
std::string run_beside(const RemoteDriver& driver,
                       const DriverTools::Arguments& arguments) {
  const auto what = "look into container " + driver.name;
  Client client(configured_host());
  std::vector<std::string> words{"/proc/1/exe"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  json command{{"AttachStdout", true}, {"AttachStderr", true}, {"Cmd", words}};
  auto exec =
    text(Client::json_of(
           client.ask("POST", "/containers/" + driver.id + "/exec", command), what),
         {"Id"});
  auto told =
    client.ask("POST", "/exec/" + exec + "/start", {{"Detach", false}, {"Tty", false}});
  if (!told.ok())
    throw Error(what + ": " + backends::docker::problem(told));
  auto printed = decoded(told.body);
  auto ended = Client::json_of(client.ask("GET", "/exec/" + exec + "/json"), what);
  if (number(ended, {"ExitCode"}, 1) != 0)
    throw Error(driver.name + ": " + printed);
  return printed;
}

bool has_ended(const RemoteDriver& driver) {
  Client client(configured_host());
  auto reply = client.ask("GET", "/containers/" + driver.id + "/json");
  if (reply.status == not_found)
    return true;
  auto told = Client::json_of(reply, "look at container " + driver.name);
  return part(told, {"State", "Running"}) != true;
}

void kill(const RemoteDriver& driver) {
  Client client(configured_host());
  auto reply = client.ask("POST", "/containers/" + driver.id + "/kill");
  if (!reply.ok() && reply.status != not_found && reply.status != not_running)
    throw Error("kill container " + driver.name + ": " +
                backends::docker::problem(reply));
}

} // namespace

const DriverTools drivers{.list = list,
                          .output = output,
                          .run_beside = run_beside,
                          .has_ended = has_ended,
                          .kill = kill};

} // namespace fiber::cli::docker
