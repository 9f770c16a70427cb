// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "cli/engines/interrupts.hpp"
#include "cli/kubernetes/client.hpp"
#include "cli/kubernetes/driver_pod.hpp"
#include "cli/kubernetes/exec.hpp"
#include "cli/kubernetes/kubernetes.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::kubernetes {
namespace {

using backends::kubernetes::text;
using nlohmann::json;

std::vector<RemoteDriver> list(bool ended_too) {
  Client client(configured_access());
  auto selector =
    std::string(backends::kubernetes::component_label) + "=" + driver_component;
  auto path =
    client.api().path("pods") + "?labelSelector=" + backends::http::escape(selector);
  if (!ended_too)
    path += "&fieldSelector=" + backends::http::escape("status.phase=Running");
  auto told = Client::json_of(client.ask("GET", path), "list the pods of drivers");
  std::vector<RemoteDriver> all;
  for (auto& pod : told["items"]) {
    auto name = text(pod, "metadata", "name");
    auto& container = pod["spec"]["containers"][0];
    all.push_back({.engine = "kubernetes",
                   .name = name,
                   .id = name,
                   .place = "pod",
                   .program = container.contains("command")
                                ? container["command"].at(0).get<std::string>()
                                : text(container, "image"),
                   .ended = text(pod, "status", "phase") != "Running"});
  }
  return all;
}

std::string output(const RemoteDriver& driver) {
  Client client(configured_access());
  auto reply =
    client.ask("GET", client.api().path("pods", driver.id) +
                        "/log?container=" + backends::kubernetes::container_name);
  if (!reply.ok())
    throw Error("read the log of pod " + driver.name + ": " +
                backends::kubernetes::problem(reply));
  return reply.body;
}

std::string run_beside(const RemoteDriver& driver,
                       const DriverTools::Arguments& arguments) {
  std::vector<std::string> words{"/proc/1/exe"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Interrupts interrupts;
  Client client(configured_access());
  try {
    auto told = exec(client, client.api().path("pods", driver.id), interrupts, words);
    if (told.exit_code == 0)
      return told.output;
    throw Error(told.errors);
  } catch (const Error& error) {
    throw Error("look into pod " + driver.name + ": " + error.what());
  }
}

bool has_ended(const RemoteDriver& driver) {
  Client client(configured_access());
  auto reply = client.ask("GET", client.api().path("pods", driver.id));
  if (reply.status == not_found)
    return true;
  auto told = Client::json_of(reply, "look at pod " + driver.name);
  return backends::kubernetes::read_pod(told, 0).exit.has_value();
}

void kill(const RemoteDriver& driver) {
  Client client(configured_access());
  json options{
    {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", 1}};
  auto reply = client.ask("DELETE", client.api().path("pods", driver.id), options);
  if (!reply.ok() && reply.status != not_found)
    throw Error("delete pod " + driver.name + ": " +
                backends::kubernetes::problem(reply));
}

} // namespace

const DriverTools drivers{.list = list,
                          .output = output,
                          .run_beside = run_beside,
                          .has_ended = has_ended,
                          .kill = kill};

} // namespace fiber::cli::kubernetes
