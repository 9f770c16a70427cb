// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/anchor.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/anchor_linger.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "base/log.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr auto ttl = "ttlSecondsAfterFinished";
constexpr int conflict = 409, forbidden = 403;
constexpr std::chrono::seconds remove_patience{5};

/// Returns the names of the containers that are not ours, separated by commas.
std::string company_in(const json& pod) {
  std::string names;
  for (auto& container : part(pod, "spec", "containers"))
    if (auto name = text(container, "name"); name != container_name)
      names += (names.empty() ? "" : ", ") + name;
  return names;
}

} // namespace

void Anchor::create(const JobSpec& spec) {
  created_ = Loop::Clock::now();
  auto job = create_job(spec);
  may_exist_ = true;
  if (!company_.empty())
    limit();
  owner_ = owner_reference(job, "batch/v1", "Job");
  auto reply =
    api_.call(json_request("POST", api_.path("secrets"),
                           secret_body(plan_, base_name(plan_), spec.keys, owner_)));
  if (reply.ok() || reply.status == conflict) // A conflict with our first request.
    return;
  remove();
  throw EngineError("create secret", reply.status, problem(reply));
}

/// The server applies all its checks to a dry run, and creates nothing. Its webhooks add
/// to the pod what they will add to that of the Job.
void Anchor::ask_for_admission(const json& job) {
  auto reply =
    api_.call(json_request("POST", api_.path("pods") + "?dryRun=All", anchor_pod(job)));
  if (reply.status == forbidden)
    throw EngineError("create the anchor's pod", reply.status, problem(reply));
  company_ = company_in(parse_reply(reply.body));
  if (reply.ok())
    return;
  log().debug("kubernetes: dry run of the anchor's pod: {}", problem(reply));
  if (reply.body.find("dry run") != std::string::npos) // A webhook does not support it.
    company_ = "of a webhook";
}

http::Request Anchor::new_deadline() const {
  auto age = std::chrono::ceil<std::chrono::seconds>(Loop::Clock::now() - created_);
  auto request =
    json_request("PATCH", api_.path("jobs", base_name(plan_)),
                 {{"spec", {{"activeDeadlineSeconds", (age + deadline_).count()}}}});
  request.headers = {"Content-Type: application/merge-patch+json"};
  return request;
}

/// Gives the Job a deadline, if this process may put it off.
void Anchor::limit() {
  auto reply = api_.call(new_deadline());
  if (!reply.ok()) {
    log().warn("kubernetes: the anchor's pod has a container {} besides its own. If this "
               "program is killed, that container keeps the pod, and all objects of this "
               "session, because Job {} can't have a deadline: {}",
               company_, base_name(plan_), problem(reply));
    return;
  }
  log().info("kubernetes: the anchor's pod has a container {} besides its own: Job {} "
             "ends {} s after this program",
             company_, base_name(plan_), deadline_.count());
  loop_.post([this] { put_off_later(); });
}

/// Tries again at the next turn if the server does not answer.
void Anchor::put_off_later() {
  constexpr int turns = 10;
  loop_.after(std::chrono::milliseconds(deadline_) / turns, [this] {
    api_.send(new_deadline(), [](const http::Reply& reply) {
      if (!reply.ok())
        log().info("kubernetes: put off the deadline of the anchor: {}", problem(reply));
    });
    put_off_later();
  });
}

json Anchor::create_job(JobSpec spec) {
  ask_for_admission(anchor_body(plan_, spec));
  if (!company_.empty()) {
    // The Job's age counts from when its controller has seen it.
    auto late = std::max<std::chrono::seconds>(deadline_ / 10, std::chrono::seconds(10));
    spec.environment[anchor_linger] = std::to_string((deadline_ + late).count());
  }
  auto body = anchor_body(plan_, spec);
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
