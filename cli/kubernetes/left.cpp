// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/objects.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "cli/engines/left.hpp"
#include "cli/kubernetes/client.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::kubernetes {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{3}, end_limit{40}, polite_limit{15};
constexpr std::chrono::milliseconds look_again{200};
constexpr int not_found = 404;

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
                                         patience),
                              "list the pods of session " + session);
  std::vector<std::string> names;
  for (auto& pod : told["items"])
    names.push_back(backends::kubernetes::text(pod, "metadata", "name"));
  return names;
}

bool has_job(Client& client, const std::string& session) {
  auto reply = client.ask("GET", client.api().path("jobs", base_of(session)), patience);
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

void remove_object(Client& client, const std::string& path, const json& options) {
  auto reply = client.ask("DELETE", path, options);
  if (!reply.ok() && reply.status != not_found)
    throw Error("remove " + path + ": " + backends::kubernetes::problem(reply));
}

void remove_pods(Client& client, const std::string& session, int grace) {
  for (auto& pod : pods_of(client, session))
    remove_object(
      client, client.api().path("pods", pod),
      {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", grace}});
}

std::vector<std::string> find(const std::string& session) {
  Client client(configured_access());
  return objects_of(client, session);
}

/// First of all the Secret with the session's keys. A pod whose node is away ends only by
/// force.
void remove(const std::string& session) {
  Client client(configured_access());
  for (auto* kind : {"secrets", "jobs"})
    remove_object(client, client.api().path(kind, base_of(session)),
                  {{"apiVersion", "v1"},
                   {"kind", "DeleteOptions"},
                   {"propagationPolicy", "Background"}});
  remove_pods(client, session, 1);
  auto begin = Clock::now();
  for (bool forced = false; !objects_of(client, session).empty();) {
    auto waited = Clock::now() - begin;
    if (waited > end_limit)
      return;
    if (waited > polite_limit && !forced) {
      remove_pods(client, session, 0);
      forced = true;
    }
    std::this_thread::sleep_for(look_again);
  }
}

} // namespace

} // namespace fiber::cli::kubernetes

namespace fiber::cli {

LeftTools kubernetes_left() {
  return {.engine = "kubernetes", .find = kubernetes::find, .remove = kubernetes::remove};
}

} // namespace fiber::cli
