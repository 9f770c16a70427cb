// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "cli/engines/image.hpp"
#include "cli/engines/interrupts.hpp"
#include "cli/engines/output_of.hpp"
#include "cli/engines/tail.hpp"
#include "cli/kubernetes/client.hpp"
#include "cli/kubernetes/driver_pod.hpp"
#include "cli/kubernetes/kubernetes.hpp"
#include "cli/kubernetes/owned_pod.hpp"
#include "cli/kubernetes/pod_start.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::kubernetes {
namespace {

using backends::kubernetes::PodState;
using backends::kubernetes::problem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int look_every_ms = 300, log_look_ms = 20;
constexpr std::chrono::seconds longest_look{2}; // Of one look, during which signals wait.
constexpr std::chrono::seconds log_end_limit{10};

/// Makes the image if that is asked for, and returns its name.
std::string prepare_image(const RunRequest& request) {
  auto name = request.image.empty() ? resolve({}).image : request.image;
  if (!request.build) {
    if (name.empty())
      throw Error("run on kubernetes: which image? Give --image, or --build to make one "
                  "of the program");
    return name;
  }
  if (!request.push && request.imports.empty())
    throw Error("--build on kubernetes: how do the nodes get the image? Give --push and "
                "an --image with the name of a registry, or an --import for each node");
  auto program = find_program(request.command.front());
  if (request.image.empty())
    name = image_name_for(program);
  auto archive = make_image(name, program);
  for (auto& command : request.imports)
    output_of({"/bin/sh", "-c", command}, archive);
  if (request.push) {
    auto& docker = engine_called("docker");
    if (!docker.push)
      throw Error("this build of fiber can't push images");
    docker.push(name, std::move(archive));
  }
  return name;
}

std::string name_for(const RunRequest& request) {
  return request.name.empty()
           ? free_name(std::filesystem::path(request.command.front()).stem().string())
           : request.name;
}

/// How far the stream of a pod's log is.
///
/// Thread safety: all functions from any thread.
class LogState {
public:
  /// Returns whether to begin a stream. `over`: the container has ended. While it has
  /// not, the end of a stream may be news of that which comes first.
  bool begin(bool over) {
    constexpr std::chrono::seconds news_delay{5};
    std::lock_guard lock(mutex_);
    if (follows_ || (over && whole_))
      return false;
    if (!over && heard_ && Clock::now() - ended_ < news_delay)
      return false;
    follows_ = true;
    return true;
  }
  bool follows() {
    std::lock_guard lock(mutex_);
    return follows_;
  }
  void heard() {
    std::lock_guard lock(mutex_);
    heard_ = true;
  }
  void ended(bool whole) {
    std::lock_guard lock(mutex_);
    follows_ = false;
    whole_ = whole;
    ended_ = Clock::now();
  }
  /// Returns from where on to go on after a stream that broke. Some lines may come twice,
  /// because the server counts in seconds.
  std::string since() {
    std::lock_guard lock(mutex_);
    if (!heard_)
      return {};
    auto seconds = std::chrono::ceil<std::chrono::seconds>(Clock::now() - ended_);
    return "&sinceSeconds=" + std::to_string(seconds.count());
  }

private:
  std::mutex mutex_; // Guards all below.
  bool follows_ = false, heard_ = false, whole_ = false;
  Clock::time_point ended_;
};

/// The output of a running pod, and the signals for it.
class Attached {
public:
  Attached(Client& client, OwnedPod& pod, std::size_t memory_mb)
    : client_(client), pod_(pod), memory_mb_(memory_mb) {}

  /// Waits for the end of the driver. Throws Error if it does not start.
  PodState wait(Interrupts& interrupts) {
    PodStart start(resolve({}));
    for (;;) {
      pollfd signals{interrupts.fd(), POLLIN, 0};
      ::poll(&signals, 1, look_every_ms);
      if (auto signal = interrupts.take(); signal.number != 0)
        on_signal(signal.number);
      auto state = look();
      if (!state)
        continue;
      if (state->started && log_->begin(state->exit.has_value()))
        follow();
      if (state->exit) {
        await_log_end();
        return *state;
      }
      if (!state->started)
        check_start(*state, start.late(*state));
    }
  }

  /// The first signal that has come; 0 if none.
  int signal() const { return signal_; }

private:
  /// Returns nothing if the server does not answer.
  std::optional<PodState> look() {
    auto reply = client_.ask("GET", pod_.path(), longest_look);
    if (reply.status == not_found) {
      PodState gone;
      gone.exit = backends::Exit::unknown("its pod was deleted");
      return gone;
    }
    if (reply.ok())
      return backends::kubernetes::read_pod(backends::kubernetes::parse_reply(reply.body),
                                            memory_mb_);
    if (!std::exchange(warned_, true))
      std::fprintf(stderr, "fiber: %s; the program goes on\n", problem(reply).c_str());
    return {};
  }

  void follow() {
    auto log = log_;
    client_.loop().post([this, log, since = log->since()] {
      client_.api().stream({.path = pod_.path() + "/log?follow=true&container=" +
                                    backends::kubernetes::container_name + since,
                            .limit = {}},
                           {.data =
                              [log](std::string_view text) {
                                log->heard();
                                write_all(STDOUT_FILENO, text);
                                return true;
                              }},
                           [log](const backends::http::Reply& reply) {
                             log->ended(reply.ok() && reply.error.empty());
                           });
    });
  }

  void await_log_end() {
    auto limit = Clock::now() + log_end_limit;
    while (log_->follows() && Clock::now() < limit)
      ::poll(nullptr, 0, log_look_ms);
  }

  void check_start(const PodState& state, const char* late) {
    if (!state.waits_for.empty() &&
        state.waits_for != std::exchange(told_, state.waits_for))
      std::fprintf(stderr, "fiber: the pod waits: %s\n", state.waits_for.c_str());
    if (state.never || late != nullptr)
      throw Error("the driver's pod has not started" +
                  (late != nullptr ? " in time (" + std::string(late) + ")" : "") +
                  (state.waits_for.empty() ? "" : ": " + state.waits_for) +
                  "; fiber doctor kubernetes says more");
  }

  void on_signal(int number) {
    constexpr long long_grace = 600, short_grace = 1;
    bool again = signal_ != 0;
    if (!again)
      signal_ = number;
    std::fprintf(stderr, "fiber: %s\n",
                 again ? "stopping everything"
                       : "asked the program to stop; the next signal stops everything");
    pod_.remove(again ? short_grace : long_grace);
  }

  Client& client_;
  OwnedPod& pod_;
  std::size_t memory_mb_;
  int signal_ = 0;
  bool warned_ = false;
  std::string told_;
  std::shared_ptr<LogState> log_ = std::make_shared<LogState>();
};

int report_end(const RunRequest& request, const PodState& state, const std::string& name,
               int signal) {
  auto& exit = *state.exit;
  int code = exit.code ? (*exit.code < 0 ? 128 - *exit.code : *exit.code) : 1;
  if (!exit.code && signal != 0)
    code = 128 + SIGTERM;
  else if (!exit.code || exit.detail.find("OOMKilled") != exit.detail.npos)
    std::fprintf(stderr, "fiber: %s\n", exit.detail.c_str());
  if (request.json)
    std::fprintf(stderr, "%s\n",
                 json{{"backend", "kubernetes"}, {"name", name}, {"exit_code", code}}
                   .dump()
                   .c_str());
  return code;
}

void report_start(const RunRequest& request, Client& client, const std::string& name,
                  const std::string& image) {
  auto& space = client.api().name_space();
  if (request.json)
    std::printf("%s\n", json{{"backend", "kubernetes"},
                             {"name", name},
                             {"namespace", space},
                             {"image", image}}
                          .dump()
                          .c_str());
  else
    std::printf("%s runs as a pod of %s; kubectl -n %s logs -f %s shows its output, and "
                "fiber stop %s ends it and its workers\n",
                name.c_str(), image.c_str(), space.c_str(), name.c_str(), name.c_str());
}

} // namespace

int run(const RunRequest& request) {
  auto image = prepare_image(request);
  auto name = name_for(request);
  auto body = driver_pod(request, image, name);
  Interrupts interrupts;
  Client client(configured_access());
  OwnedPod pod(client, body, "the driver's pod");
  if (request.detach) {
    pod.release();
    report_start(request, client, name, image);
    return 0;
  }
  Attached attached(client, pod, request.memory_mb);
  auto state = attached.wait(interrupts);
  return report_end(request, state, name, attached.signal());
}

} // namespace fiber::cli::kubernetes
