// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "cli/engines/left.hpp"
#include "cli/kubernetes/client.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::kubernetes {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds longest_request{3};

/// The name of a session's Job and Secret.
std::string base_of(const std::string& session) {
  backends::kubernetes::Plan plan;
  plan.session = session;
  return backends::kubernetes::base_name(plan);
}

std::vector<std::string> pods_of(Client& client, const std::string& session) {
  auto selector = std::string(backends::kubernetes::instance_label) + "=" + session;
  auto told = Client::json_of(client.ask("GET",
                                         client.api().path("pods") + "?labelSelector=" +
                                           backends::http::escape(selector),
                                         longest_request),
                              "list the pods of session " + session);
  std::vector<std::string> names;
  for (auto& pod : told["items"])
    names.push_back(backends::kubernetes::text(pod, "metadata", "name"));
  return names;
}

bool has_job(Client& client, const std::string& session) {
  auto reply =
    client.ask("GET", client.api().path("jobs", base_of(session)), longest_request);
  if (reply.status == not_found)
    return false;
  Client::json_of(reply, "look for the Job of session " + session);
  return true;
}

std::vector<std::string> objects_of(Client& client, const std::string& session) {
  std::vector<std::string> all;
  for (auto& pod : pods_of(client, session))
    all.push_back("pod " + pod);
  if (has_job(client, session))
    all.push_back("Job " + base_of(session));
  return all;
}

void remove_object(Client& client, const std::string& path, json options) {
  options.update({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}});
  auto reply = client.ask("DELETE", path, options);
  if (!reply.ok() && reply.status != not_found)
    throw Error("remove " + path + ": " + backends::kubernetes::problem(reply));
}

/// First of all the Secret with the session's keys. A pod whose node is away ends only by
/// force.
std::string remove_objects(Client& client, const std::string& session, bool by_force) {
  for (auto* kind : {"secrets", "jobs"})
    remove_object(client, client.api().path(kind, base_of(session)),
                  {{"propagationPolicy", "Background"}});
  for (auto& pod : pods_of(client, session))
    remove_object(client, client.api().path("pods", pod),
                  {{"gracePeriodSeconds", by_force ? 0 : 1}});
  return {};
}

} // namespace

Left left_of(const std::string& session) {
  auto client = std::make_shared<Client>(configured_access());
  return {.list = [=] { return objects_of(*client, session); },
          .remove = [=](bool again) { return remove_objects(*client, session, again); },
          .end_limit = std::chrono::seconds(40),
          .ask_again = std::chrono::seconds(15)};
}

} // namespace fiber::cli::kubernetes
