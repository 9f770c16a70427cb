// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/docker_job.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/container/container_entry.hpp"
#include "backends/engine/job_exit.hpp"
#include "backends/engine/retry_pause.hpp"
#include "base/log.hpp"

namespace fiber::backends::docker {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr int max_tries = 6;              // For a request, before the container runs.
constexpr milliseconds look_limit{10000}; // A restarting engine may never reply.
constexpr milliseconds ask_again{500};
constexpr milliseconds output_limit{2000};   // For the rest of the output, after the end.
constexpr milliseconds oom_news_limit{1000}; // The event comes by another stream.
constexpr milliseconds end_news_limit{5000}; // That stream may have to be reopened.

/// Returns whether the container's name exists. Podman answers with status 500.
bool name_is_taken(const http::Reply& reply) {
  constexpr int conflict = 409, failure = 500;
  return reply.status == conflict ||
         (reply.status == failure &&
          problem(reply).find("name is already in use") != std::string::npos);
}

/// Decodes a runtime's exit status: signal N is reported as 128 + N, which cannot be
/// distinguished from exit(128 + N).
Exit exit_of(int status) {
  constexpr int signals = 128, last_signal = 64;
  return Exit::known(
    status > signals && status <= signals + last_signal ? signals - status : status);
}

} // namespace

DockerJob::DockerJob(JobServices& services, std::uint64_t serial, JobSpec spec)
  : services_(services), serial_(serial), spec_(std::move(spec)) {}

void DockerJob::send(http::Request request, Next next) {
  services_.engine.client().send(
    std::move(request), [self = shared_from_this(), next](const http::Reply& reply) {
      (self.get()->*next)(reply);
    });
}

void DockerJob::retry(void (DockerJob::*order)()) {
  services_.loop.after(retry_pause(tries_++), [self = shared_from_this(), order] {
    if (self->state_ != State::over)
      (self.get()->*order)();
  });
}

// -- start --

void DockerJob::begin() {
  if (terminate_)
    return fail("terminated before it was created", 0);
  if (told_turn_)
    waits("");
  state_ = State::creating;
  services_.images.ensure(
    image_name(),
    [self = shared_from_this()](const Image& image) {
      if (self->terminate_)
        return self->fail("terminated before it was created", 0);
      if (!image.problem.empty())
        return self->fail(image.problem, image.status);
      self->image_ = image;
      self->create();
    },
    [self = shared_from_this()](const std::string& words) { self->waits(words); });
}

void DockerJob::wait_for_turn() {
  if (state_ != State::queued)
    return;
  told_turn_ = true;
  waits("other containers start first");
}

void DockerJob::waits(const std::string& words) {
  services_.event({.kind = JobEvent::Kind::waits,
                   .job = spec_.name,
                   .detail = words,
                   .wait = JobEvent::Wait::turn});
}

const std::string& DockerJob::image_name() const {
  return spec_.image.empty() ? services_.place.image : spec_.image;
}

void DockerJob::create() {
  send(services_.engine.request(
         "POST", "/containers/create?name=" + container_name(services_.place, spec_),
         container_body(spec_, services_.place, image_)),
       &DockerJob::on_created);
}

void DockerJob::on_created(const http::Reply& reply) {
  auto told = json::parse(reply.body, nullptr, false);
  if (reply.ok() && told.is_object()) {
    id_ = text(told, {"Id"});
    return prepare();
  }
  if (name_is_taken(reply)) // Maybe our first request succeeded, and its reply was lost.
    return send(services_.engine.request("GET", "/containers/" +
                                                  container_name(services_.place, spec_) +
                                                  "/json"),
                &DockerJob::on_found);
  if (is_transient(reply) && tries_ < max_tries)
    return retry(&DockerJob::create);
  constexpr int no_image = 404;
  if (reply.status == no_image)
    services_.images.forget(image_name());
  fail("create container of image " + image_name() + ": " + problem(reply), reply.status);
}

void DockerJob::on_found(const http::Reply& reply) {
  auto told = json::parse(reply.body, nullptr, false);
  if (reply.ok() && told.is_object() && is_ours(told, services_.place, spec_)) {
    id_ = text(told, {"Id"});
    return prepare();
  }
  if (is_transient(reply) && tries_ < max_tries)
    return retry(&DockerJob::create);
  fail("create container: the name " + container_name(services_.place, spec_) +
         " is taken by a container that is not ours",
       reply.status);
}

void DockerJob::prepare() {
  state_ = State::preparing;
  tries_ = 0;
  if (terminate_) {
    failure_ = "terminated before it started";
    return remove();
  }
  attach();
  wait();
}

void DockerJob::attach() {
  auto weak = weak_from_this();
  bool at_start = state_ == State::preparing;
  stream_ = services_.engine.client().upgrade(
    services_.engine.request("POST", "/containers/" + id_ +
                                       "/attach?stream=1&stdin=1&stdout=1&stderr=1"),
    {.head =
       [weak, at_start](int) {
         auto self = weak.lock();
         if (!self || !at_start)
           return;
         self->attached_ = true;
         self->stream_->write(container_start(self->spec_));
         self->prepared();
       },
     .data =
       [weak](std::string_view bytes) {
         auto self = weak.lock();
         if (!self)
           return true;
         self->decoder_.feed(bytes, [&](std::string_view text) {
           self->services_.output.write(self->serial_, text);
         });
         return self->services_.output.has_room();
       }},
    [weak](const http::Reply& reply) {
      auto self = weak.lock();
      if (!self)
        return;
      if (self->state_ == State::preparing && !self->attached_) {
        if (is_transient(reply) && self->recreated_++ < max_tries) {
          self->tries_ = 0;
          return self->recreate();
        }
        self->failure_ = "start container: " + problem(reply);
        self->failure_status_ = reply.status;
        return self->remove();
      }
      self->output_over();
    });
}

/// Creates the container anew, because a lost attachment has closed its stdin for good.
void DockerJob::recreate() {
  state_ = State::creating;
  waiting_ = false;
  stream_ = nullptr;
  services_.engine.client().send(
    services_.engine.request("DELETE", "/containers/" + id_ + "?force=1&v=1"),
    [self = shared_from_this()](const http::Reply& reply) {
      if (is_transient(reply) && self->tries_ < max_tries)
        return self->retry(&DockerJob::recreate);
      self->tries_ = 0;
      self->id_.clear();
      self->create();
    });
}

/// Waits for the container's removal. The reply begins at once and ends with the removal.
void DockerJob::wait() {
  auto request =
    services_.engine.request("POST", "/containers/" + id_ + "/wait?condition=removed");
  request.limit = {};
  auto body = std::make_shared<std::string>();
  services_.engine.client().stream(
    std::move(request),
    {.head =
       [self = shared_from_this(), id = id_](int status) {
         if (status == 200 && self->state_ == State::preparing && self->id_ == id) {
           self->waiting_ = true;
           self->prepared();
         }
       },
     .data =
       [body](std::string_view piece) {
         *body += piece;
         return true;
       }},
    [self = shared_from_this(), id = id_, body](const http::Reply& reply) {
      self->on_waited(id, reply, *body);
    });
}

void DockerJob::prepared() {
  if (attached_ && waiting_ && state_ == State::preparing) {
    state_ = State::starting;
    start();
  }
}

void DockerJob::start() {
  send(services_.engine.request("POST", "/containers/" + id_ + "/start"),
       &DockerJob::on_started);
}

void DockerJob::on_started(const http::Reply& reply) {
  constexpr int already = 304, not_found = 404;
  if (state_ != State::starting)
    return;
  if (reply.ok() || reply.status == already ||
      (reply.status == not_found && (early_ || tries_ > 0))) {
    started();
    return early_ ? exited(*early_) : void();
  }
  if (is_transient(reply) && tries_ < max_tries)
    // If the first request succeeded, the engine says so.
    return retry(&DockerJob::start);
  failure_ = "start container: " + problem(reply);
  if (auto told = advice(failure_, services_.place.allowed); !told.empty())
    failure_ += " (" + told + ")";
  failure_status_ = reply.status;
  remove();
}

void DockerJob::started() {
  state_ = State::running;
  tries_ = 0;
  services_.start_done(serial_);
  if (!std::exchange(told_started_, true))
    services_.event({.kind = JobEvent::Kind::started, .job = spec_.name});
  if (terminate_)
    terminate(*terminate_);
}

// -- end --

void DockerJob::on_waited(const std::string& id, const http::Reply& reply,
                          const std::string& body) {
  if (is_past(id))
    return;
  auto told = json::parse(body, nullptr, false);
  if (reply.ok() && part(told, {"StatusCode"}).is_number()) {
    if (state_ == State::preparing) { // Removed by someone else.
      failure_ = "the container was removed before it was started";
      return remove();
    }
    if (services_.engine.is_podman()) // Up to 4.6 it always reports 0 here.
      return vanished("the engine did not report how the container ended");
    return exited(exit_of(static_cast<int>(number(told, {"StatusCode"}))));
  }
  inspect(id); // The connection or the engine failed: asks for the container's state.
}

/// Returns whether news of the container `id` no longer concerns this job: the job is
/// being removed or over, or has had its container replaced by recreate().
bool DockerJob::is_past(const std::string& id) const {
  return state_ == State::over || state_ == State::removing ||
         state_ == State::creating || id != id_;
}

void DockerJob::inspect(const std::string& id) {
  if (exit_ || is_past(id))
    return;
  auto request = services_.engine.request("GET", "/containers/" + id + "/json");
  request.limit = look_limit;
  services_.engine.client().send(
    std::move(request), [self = shared_from_this(), id](const http::Reply& reply) {
      if (!self->exit_ && !self->is_past(id))
        self->on_inspected(reply);
    });
}

/// Handles the container's state. A failed request says nothing about the container.
void DockerJob::on_inspected(const http::Reply& reply) {
  constexpr int not_found = 404;
  if (reply.status == not_found)
    return vanished("the engine lost sight of the container");
  auto told = json::parse(reply.body, nullptr, false);
  auto status = reply.ok() ? text(told, {"State", "Status"}) : "";
  if (status == "exited" || status == "dead")
    return exited(exit_of(static_cast<int>(number(told, {"State", "ExitCode"}))));
  if (!status.empty()) {
    tries_ = 0;
    if (!stream_) {
      output_over_ = false;
      attach();
    }
    return wait();
  }
  services_.loop.after(retry_pause(tries_++),
                       [self = shared_from_this(), id = id_] { self->inspect(id); });
}

void DockerJob::died(int status) {
  if (state_ == State::starting || state_ == State::running)
    exited(exit_of(status));
}

/// Handles the container's disappearance. Podman reports the exit code in an event, for
/// which this waits.
void DockerJob::vanished(const std::string& otherwise) {
  if (!services_.engine.is_podman())
    return exited(Exit::unknown(otherwise));
  services_.loop.after(end_news_limit, [weak = weak_from_this(), otherwise, id = id_] {
    if (auto self = weak.lock(); self && !self->is_past(id))
      self->exited(Exit::unknown(otherwise));
  });
}

void DockerJob::output_over() {
  stream_ = nullptr;
  output_over_ = true;
  if (exit_)
    conclude();
}

void DockerJob::exited(const Exit& exit) {
  if (exit_)
    return;
  if (state_ == State::starting) { // The pending reply says whether it ran at all.
    early_ = early_ ? early_ : exit;
    return;
  }
  exit_ = exit;
  services_.loop.cancel(force_);
  if (output_over_ || !stream_)
    return conclude();
  patience_ = services_.loop.after(output_limit, [weak = weak_from_this()] {
    if (auto self = weak.lock())
      self->conclude();
  });
}

void DockerJob::out_of_memory() {
  out_of_memory_ = true;
  if (concluding_)
    conclude();
}

void DockerJob::conclude() {
  services_.loop.cancel(patience_);
  if (state_ == State::over)
    return;
  bool killed = exit_->code == -SIGKILL && !terminating_ && !terminate_;
  if (killed && !out_of_memory_ && spec_.resources.memory_mb > 0 &&
      !services_.engine.is_podman() && !std::exchange(concluding_, true)) {
    patience_ = services_.loop.after(oom_news_limit, [weak = weak_from_this()] {
      if (auto self = weak.lock())
        self->conclude();
    });
    return;
  }
  close({.kind = JobEvent::Kind::ended,
         .job = spec_.name,
         .exit_code = exit_->code,
         .detail = killed ? killed_detail() : own_end_detail()});
}

/// Returns why the job ended, and which setting may be missing if it says what it lacked.
std::string DockerJob::own_end_detail() const {
  auto told = exit_->code.value_or(0) > 0
                ? advice(services_.output.last(serial_), services_.place.allowed)
                : "";
  return told.empty() ? exit_->detail : exit_->detail + " (" + told + ")";
}

std::string DockerJob::killed_detail() const {
  auto limit = std::to_string(spec_.resources.memory_mb) + " MiB";
  bool limited = spec_.resources.memory_mb > 0;
  // Podman does not report it, but the container's first process does.
  if (out_of_memory_ ||
      services_.output.last(serial_).find(out_of_memory_words) != std::string::npos)
    return limited ? "OOMKilled, limit " + limit : "OOMKilled";
  if (limited && services_.engine.is_podman())
    return exit_->detail + ", memory limit " + limit + ", cause not reported";
  return exit_->detail;
}

void DockerJob::terminate(milliseconds grace) {
  if (state_ == State::over || state_ == State::removing || exit_)
    return;
  if (state_ != State::running) {
    terminate_ = terminate_ ? std::min(*terminate_, grace) : grace;
    if (state_ == State::preparing) {
      failure_ = "terminated before it started";
      remove();
    }
    return;
  }
  terminating_ = true;
  services_.loop.cancel(force_);
  send_term(grace);
}

/// Repeats SIGTERM until `grace` has passed, because the kernel drops signals to a
/// container's first process before that has a handler.
void DockerJob::send_term(milliseconds grace) {
  if (exit_ || state_ != State::running)
    return;
  if (grace.count() <= 0)
    return kill("KILL");
  kill("TERM");
  auto pause = std::min(grace, ask_again);
  force_ = services_.loop.after(pause, [weak = weak_from_this(), left = grace - pause] {
    if (auto self = weak.lock())
      self->send_term(left);
  });
}

/// Sends a signal; retries while the engine does not reply and the container runs.
void DockerJob::kill(const char* signal) {
  services_.engine.client().send(
    services_.engine.request("POST", "/containers/" + id_ + "/kill?signal=" + signal),
    [self = shared_from_this(), signal](const http::Reply& reply) {
      if (is_transient(reply) && self->state_ == State::running && !self->exit_)
        self->services_.loop.after(retry_pause(self->tries_++), [self, signal] {
          if (self->state_ == State::running && !self->exit_)
            self->kill(signal);
        });
    });
}

/// Removes a container that never started, then reports the job as failed.
void DockerJob::remove() {
  if (state_ != State::removing)
    tries_ = 0;
  state_ = State::removing;
  services_.engine.client().send(
    services_.engine.request("DELETE", "/containers/" + id_ + "?force=1&v=1"),
    [self = shared_from_this()](const http::Reply& reply) {
      if (is_transient(reply) && self->tries_ < max_tries)
        return self->retry(&DockerJob::remove);
      self->fail(self->failure_, self->failure_status_);
    });
}

void DockerJob::fail(const std::string& detail, int status) {
  close({.kind = JobEvent::Kind::failed,
         .job = spec_.name,
         .detail = detail,
         .status = status});
}

void DockerJob::close(const JobEvent& event) {
  if (std::exchange(state_, State::over) == State::over)
    return;
  services_.loop.cancel(force_);
  stream_ = nullptr;
  services_.output.close(serial_);
  auto& services = services_; // closed() destroys this.
  auto serial = serial_;
  services.start_done(serial);
  services.closed(serial);
  services.event(event);
}

} // namespace fiber::backends::docker
