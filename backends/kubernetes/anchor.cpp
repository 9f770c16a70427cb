// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/anchor.hpp"

#include <chrono>
#include <utility>

#include "backends/kubernetes/reply_json.hpp"
#include "base/log.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr auto ttl = "ttlSecondsAfterFinished";
constexpr int conflict = 409, forbidden = 403;
constexpr std::chrono::seconds remove_patience{5};

} // namespace

void Anchor::create(const JobSpec& spec) {
  auto job = create_job(spec);
  may_exist_ = true;
  owner_ = owner_reference(job, "batch/v1", "Job");
  auto reply =
    api_.call(json_request("POST", api_.path("secrets"),
                           secret_body(plan_, base_name(plan_), spec.keys, owner_)));
  if (reply.ok() || reply.status == conflict) // A conflict with our first request.
    return;
  remove();
  throw EngineError("create secret", reply.status, problem(reply));
}

/// The server applies all its checks to a dry run, and creates nothing.
void Anchor::ask_for_admission(const json& job) {
  auto reply =
    api_.call(json_request("POST", api_.path("pods") + "?dryRun=All", anchor_pod(job)));
  if (reply.status == forbidden)
    throw EngineError("create the anchor's pod", reply.status, problem(reply));
  if (!reply.ok()) // A webhook may not support dry runs.
    log().debug("kubernetes: dry run of the anchor's pod: {}", problem(reply));
}

json Anchor::create_job(const JobSpec& spec) {
  auto body = anchor_body(plan_, spec);
  ask_for_admission(body);
  auto post = [&] { return api_.call(json_request("POST", api_.path("jobs"), body)); };
  auto reply = post();
  if (!reply.ok() && reply.body.find(ttl) != std::string::npos) {
    body["spec"].erase(ttl);
    reply = post();
  }
  bool there = reply.status == conflict;
  if (there)
    reply = api_.call({.path = api_.path("jobs", base_name(plan_))});
  auto job = parse_reply(reply.body);
  if (!reply.ok() || text(job, "metadata", "uid").empty()) {
    may_exist_ = there || is_transient(reply); // It may exist all the same.
    remove();
    throw EngineError("create job", reply.status, problem(reply));
  }
  if (!part(job, "spec").contains(ttl)) {
    plan_.deadline = std::chrono::hours(24);
    log().warn("kubernetes: the server does not know {} of Jobs: what a driver that is "
               "killed leaves behind stays until activeDeadlineSeconds, one day, ends it",
               ttl);
  }
  return job;
}

void Anchor::remove() {
  if (!std::exchange(may_exist_, false))
    return;
  json options{
    {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}};
  for (auto* kind : {"secrets", "jobs"}) {
    auto reply =
      api_.call(json_request("DELETE", api_.path(kind, base_name(plan_)), options),
                remove_patience);
    if (!reply.ok() && reply.status != 404)
      log().warn("kubernetes: delete {} {}: {}", kind, base_name(plan_), problem(reply));
  }
}

} // namespace fiber::backends::kubernetes
