// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/kubernetes_job.hpp"

#include <algorithm>
#include <utility>

#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/quota.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "backends/kubernetes/security.hpp"
#include "base/log.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr int http_conflict = 409;
constexpr milliseconds log_limit{10000}; // Limit on silence, for the rest after the end.
constexpr milliseconds log_settles{500}; // The runtime may write the last lines late.
constexpr milliseconds rest_limit{3000};
constexpr milliseconds shortest_grace{1000};

/// Returns whether `text` is a kubelet's message about a removed container, which it
/// writes into a log that it follows.
bool is_runtime_message(std::string_view text) {
  return text.starts_with("rpc error: code = NotFound desc = an error occurred when try "
                          "to find container") ||
         text.starts_with("unable to retrieve container logs for ") ||
         text.starts_with("failed to try resolving symlinks in path ");
}

} // namespace

KubernetesJob::KubernetesJob(JobServices& services, std::uint64_t serial, JobSpec spec)
  : services_(services), serial_(serial), spec_(std::move(spec)),
    name_(pod_name(services.plan, spec_, serial)) {}

template <class F>
void KubernetesJob::after(milliseconds pause, F f) {
  services_.loop.after(pause, [weak = weak_from_this(), f] {
    if (auto self = weak.lock(); self && !self->over_)
      f(*self);
  });
}

// -- start --

void KubernetesJob::begin() {
  begun_ = true;
  if (waits_for_.empty()) // Else it waits for the same until the server has accepted it.
    waits("", JobEvent::Wait::blocked);
  create_secret();
}

void KubernetesJob::waits(const std::string& words, JobEvent::Wait wait) {
  if (over_ || started_ || (told_wait_ == words && told_kind_ == wait))
    return;
  told_wait_ = words;
  told_kind_ = wait;
  services_.event(
    {.kind = JobEvent::Kind::waits, .job = spec_.name, .detail = words, .wait = wait});
}

/// A quota is used up. It has room again when other pods have ended.
void KubernetesJob::on_no_room(const std::string& words) {
  if (terminate_)
    return fail("terminated before it was created: " + words, 0);
  begun_ = false;
  waits_for_ = words;
  waits(words, JobEvent::Wait::room);
  services_.no_room(serial_, words);
}

/// Each pod has a Secret of its own, by the pod's name, so that no job can pose as
/// another one.
void KubernetesJob::create_secret() {
  if (over_)
    return;
  auto request =
    json_request("POST", services_.api.path("secrets"),
                 secret_body(services_.plan, name_, spec_.keys, services_.owner));
  services_.api.send(
    std::move(request), [self = shared_from_this()](const http::Reply& reply) {
      self->has_secret_ = self->has_secret_ || reply.ok() || is_transient(reply);
      if (self->over_)
        return self->remove_secret();
      if (reply.ok() || reply.status == http_conflict) { // With our own first request.
        self->tries_ = 0;
        return self->create();
      }
      if (is_used_up(reply))
        return self->on_no_room("create secret: " + problem(reply));
      if (!is_transient(reply))
        return self->fail("create secret: " + problem(reply), reply.status);
      log().info("kubernetes: create secret {}: {}; trying again", self->name_,
                 problem(reply));
      self->after(pause_before(self->tries_++, reply),
                  [](auto& job) { job.create_secret(); });
    });
}

/// Removes the Secret, which also goes with the session's anchor.
void KubernetesJob::remove_secret() {
  if (!has_secret_ || session_ends_)
    return;
  constexpr int not_found = 404;
  services_.api.send(json_request("DELETE", services_.api.path("secrets", name_),
                                  {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}}),
                     [name = name_](const http::Reply& reply) {
                       if (!reply.ok() && reply.status != not_found)
                         log().debug("kubernetes: delete secret {}: {}", name,
                                     problem(reply));
                     });
}

void KubernetesJob::create() {
  if (exists_ || exit_) // The watch was faster.
    return;
  http::Request request;
  try {
    auto body = pod_body(services_.plan, spec_, serial_, services_.owner);
    services_.images.pin(body);
    request = json_request("POST", services_.api.path("pods"), body);
  } catch (const json::exception& error) { // A text is not UTF-8.
    return fail(std::string("create pod: ") + error.what(), 0);
  }
  services_.api.send(
    std::move(request),
    [self = shared_from_this()](const http::Reply& reply) { self->on_created(reply); });
}

/// Handles the reply. After a lost reply a retry may conflict with our own pod.
void KubernetesJob::on_created(const http::Reply& reply) {
  if (over_)
    return;
  if (reply.ok())
    is_ours(parse_reply(reply.body));
  if (reply.ok() || exists_)
    return on_exists();
  if (reply.status == http_conflict)
    return services_.api.send(
      {.path = services_.api.path("pods", name_)},
      [self = shared_from_this()](const http::Reply& found) { self->on_found(found); });
  if (is_used_up(reply))
    return on_no_room("create pod: " + problem(reply));
  if (!is_transient(reply))
    return fail("create pod: " + problem(reply), reply.status);
  log().info("kubernetes: create pod {}: {}; trying again", name_, problem(reply));
  after(pause_before(tries_++, reply), [](auto& self) { self.create(); });
}

void KubernetesJob::on_found(const http::Reply& reply) {
  if (over_)
    return;
  auto pod = parse_reply(reply.body);
  if (reply.ok() && pod.is_object()) {
    auto ours = text(pod, "metadata", "annotations", job_annotation);
    if (ours == spec_.name) {
      is_ours(pod);
      return on_exists();
    }
    return fail("create pod: there is another pod " + name_, http_conflict);
  }
  constexpr int not_found = 404;
  if (!is_transient(reply) && reply.status != not_found)
    return fail("get pod: " + problem(reply), reply.status);
  after(pause_before(tries_++, reply), [](auto& self) { self.create(); });
}

void KubernetesJob::on_exists() {
  if (!std::exchange(exists_, true)) {
    tries_ = 0;
    waits_for_.clear();
    services_.created(serial_);
  }
  if (terminate_)
    remove(*std::exchange(terminate_, std::nullopt));
}

void KubernetesJob::on_all_deleted() {
  if (!over_ && exists_ && !started_)
    fail("terminated before it started", 0);
}

// -- events of the watch --

/// Returns whether the object is our pod: it may have been replaced by another one with
/// the same name.
bool KubernetesJob::is_ours(const json& pod) {
  auto uid = text(pod, "metadata", "uid");
  if (uid_.empty())
    uid_ = uid;
  return uid.empty() || uid == uid_;
}

void KubernetesJob::changed(const json& pod) {
  if (over_)
    return;
  if (!is_ours(pod)) { // Nor is its log ours.
    if (!exit_) {
      exit_ = Exit::unknown("the pod is gone, there is another one by its name");
      confirmed_ = false;
    }
    return conclude();
  }
  if (exit_)
    return;
  on_exists();
  auto state = read_pod(pod, spec_.resources.memory_mb);
  disrupted_ = disrupted_ || (state.disrupted && !asked_);
  if (state.started && !std::exchange(started_, true)) {
    services_.images.note(pod);
    services_.event({.kind = JobEvent::Kind::started, .job = spec_.name});
    follow();
  }
  if (!state.waits_for.empty() && state.waits_for != waits_for_) {
    log().info("kubernetes: pod {} waits: {}", name_, state.waits_for);
    waits_for_ = state.waits_for;
  }
  if (!state.exit)
    waits(state.waits_for, state.wait);
  if (state.exit)
    return exited(*state.exit, state.seen || !started_);
  if (state.never) {
    remove(shortest_grace);
    fail(state.waits_for, 0);
  }
}

/// Handles the object's deletion. If the process was not seen to end, the deletion was
/// forced, and the process may run a little longer.
void KubernetesJob::deleted(const json& pod) {
  changed(pod);
  if (over_ || exit_)
    return;
  if (started_)
    return exited(Exit::unknown(asked_ ? "terminated" : "the pod was deleted"), asked_);
  exited(Exit::unknown("the pod was deleted before it started"), true);
}

void KubernetesJob::missing() {
  if (!over_ && !exit_)
    exited(Exit::unknown("the pod is gone"), false);
}

// -- output --

void KubernetesJob::follow() {
  following_ = true;
  auto path =
    services_.api.path("pods", name_) + "/log?follow=true&container=" + container_name;
  if (log_broke_) // Some lines may come twice, because the server counts in seconds.
    path += "&sinceSeconds=" + std::to_string(std::chrono::ceil<std::chrono::seconds>(
                                                Loop::Clock::now() - *log_broke_)
                                                .count());
  services_.api.stream(
    {.path = path, .limit = {}},
    {.data =
       [self = shared_from_this()](std::string_view text) {
         if (self->over_)
           return true;
         self->log_tries_ = 0;
         self->log_new_ = self->log_new_ || !text.empty();
         if (!self->fetching_rest_)
           self->take_log(text);
         return self->services_.output.has_room();
       }},
    [self = shared_from_this()](const http::Reply& reply) { self->on_log_end(reply); });
}

void KubernetesJob::take_log(std::string_view text) {
  constexpr std::size_t remembered = 256;
  if (is_runtime_message(text))
    return;
  log_heard_ = Loop::Clock::now();
  services_.output.write(serial_, text);
  log_end_ += text.substr(text.size() - std::min(text.size(), remembered));
  log_end_.erase(0, log_end_.size() - std::min(log_end_.size(), remembered));
}

/// Fetches the end of the log until nothing new comes: a kubelet stops following when the
/// container has ended, maybe before the last lines are in the file.
void KubernetesJob::fetch_rest() {
  fetching_rest_ = true;
  after(log_settles, [](auto& job) {
    job.services_.api.send({.path = job.services_.api.path("pods", job.name_) +
                                    "/log?tailLines=2000&container=" + container_name,
                            .limit = rest_limit},
                           [self = job.shared_from_this()](const http::Reply& reply) {
                             if (self->over_)
                               return;
                             if (reply.ok() && self->take_rest(reply.body))
                               self->fetch_rest();
                             else
                               self->conclude();
                           });
  });
}

/// Outputs the part of `tail` that is new. Returns whether there may be more.
bool KubernetesJob::take_rest(std::string_view tail) {
  std::string_view end = log_end_; // A short log may have come twice.
  end.remove_prefix(end.size() - std::min(end.size(), tail.size()));
  auto known = end.empty() ? tail.npos : tail.rfind(end);
  auto rest = known == tail.npos ? tail : tail.substr(known + end.size());
  take_log(rest);
  return known != tail.npos && !rest.empty();
}

void KubernetesJob::on_log_end(const http::Reply& reply) {
  if (over_)
    return;
  constexpr int max_tries = 5, forbidden = 403;
  if (reply.status == forbidden)
    log().warn("kubernetes: log of pod {}: {}", name_, problem(reply));
  if (reply.ok() || reply.status == forbidden || (exit_ && log_tries_ >= max_tries)) {
    log_over_ = true;
    if (exit_)
      finish();
    return;
  }
  log().debug("kubernetes: log of pod {}: {}", name_, problem(reply));
  if (std::exchange(log_new_, false))
    log_broke_ = Loop::Clock::now();
  after(pause_before(log_tries_++, reply), [](auto& self) { self.follow(); });
}

// -- end --

void KubernetesJob::terminate(milliseconds grace) {
  if (over_ || exit_)
    return;
  asked_ = true;
  if (!begun_)
    return fail("terminated before it was created" +
                  (waits_for_.empty() ? "" : ": " + waits_for_),
                0);
  if (!exists_) {
    terminate_ = terminate_ ? std::min(*terminate_, grace) : grace;
    return;
  }
  remove(grace);
}

/// Deletes the pod. Never with grace 0, which removes the object before the process has
/// ended.
void KubernetesJob::remove(milliseconds grace) {
  auto seconds = std::chrono::ceil<std::chrono::seconds>(std::max(grace, shortest_grace));
  json options{{"apiVersion", "v1"},
               {"kind", "DeleteOptions"},
               {"gracePeriodSeconds", seconds.count()},
               {"propagationPolicy", "Background"}};
  if (!uid_.empty())
    options["preconditions"]["uid"] = uid_;
  services_.api.send(json_request("DELETE", services_.api.path("pods", name_), options),
                     [self = shared_from_this(), grace](const http::Reply& reply) {
                       self->on_removed(reply, grace);
                     });
}

/// Handles the reply. Retries less if the job has ended by itself: its pod is removed
/// with the session.
void KubernetesJob::on_removed(const http::Reply& reply, milliseconds grace) {
  constexpr int not_found = 404, max_tries = 10;
  if (reply.ok())
    return removed(json::parse(reply.body, nullptr, false));
  if (reply.status == not_found)
    return;
  if (reply.status == http_conflict && !uid_.empty()) // Another pod has its name.
    return log().debug("kubernetes: delete pod {}: {}", name_, problem(reply));
  if (!is_transient(reply) || (over_ && tries_ >= max_tries))
    return log().warn("kubernetes: delete pod {}: {}", name_, problem(reply));
  services_.loop.after(pause_before(tries_++, reply),
                       [self = shared_from_this(), grace] { self->remove(grace); });
}

/// Reports a pod that was still waiting for an image or a node as failed. It has no
/// process, but its object may remain for half a minute.
void KubernetesJob::removed(const json& pod) {
  if (over_ || exit_ || started_ || !pod.is_object())
    return;
  auto state = read_pod(pod, spec_.resources.memory_mb);
  if (!state.started && !state.exit && !state.waits_for.empty())
    fail(state.waits_for, 0);
}

void KubernetesJob::exited(Exit exit, bool confirmed) {
  exit_ = std::move(exit);
  confirmed_ = confirmed;
  log().debug("kubernetes: pod {} has ended: {}", name_, exit_->detail);
  if (!started_)
    return conclude();
  if (log_over_)
    return finish();
  if (!following_)
    follow();
  log_heard_ = Loop::Clock::now();
  await_log();
}

void KubernetesJob::await_log() {
  after(log_limit, [](auto& self) {
    if (Loop::Clock::now() - self.log_heard_ < log_limit)
      self.await_log();
    else
      self.finish(); // A kubelet may lose its position when it rotates the file.
  });
}

/// Handles the end of the log stream.
void KubernetesJob::finish() {
  if (asked_)
    conclude();
  else if (!fetching_rest_)
    fetch_rest();
}

void KubernetesJob::conclude() {
  if (!started_ && confirmed_) {
    auto why = waits_for_.empty() ? exit_->detail : waits_for_;
    return fail(why, 0);
  }
  if (!asked_) // Otherwise its object would remain.
    remove(shortest_grace);
  if (exit_->code.value_or(0) > 0)
    if (auto told = advice(services_.output.last(serial_) + exit_->detail); !told.empty())
      exit_->detail += " (" + told + ")";
  close({.kind = JobEvent::Kind::ended,
         .job = spec_.name,
         .exit_code = exit_->code,
         .detail = exit_->detail,
         .disrupted = disrupted_,
         .confirmed = confirmed_});
}

void KubernetesJob::fail(const std::string& detail, int status) {
  close({.kind = JobEvent::Kind::failed,
         .job = spec_.name,
         .detail = detail,
         .status = status});
}

void KubernetesJob::close(const JobEvent& event) {
  if (std::exchange(over_, true))
    return;
  services_.output.close(serial_);
  remove_secret();
  auto& services = services_; // closed() destroys this.
  auto serial = serial_;
  services.created(serial);
  services.closed(serial);
  services.event(event);
}

} // namespace fiber::backends::kubernetes
