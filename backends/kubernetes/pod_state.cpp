// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/pod_state.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

#include "backends/kubernetes/reply_json.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

template <std::size_t N>
bool one_of(const std::string& word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// "REASON: MESSAGE"
std::string in_words(const json& object) {
  auto reason = text(object, "reason"), message = text(object, "message");
  if (reason.empty() || message.empty())
    return reason + message;
  return reason + ": " + message;
}

/// Decodes the exit code. A runtime reports signal N as 128 + N.
Exit exit_of(const json& terminated, std::size_t memory_mb) {
  constexpr int signals = 128, last_signal = 64;
  auto& code = part(terminated, "exitCode");
  auto& signal = part(terminated, "signal");
  auto reason = text(terminated, "reason");
  // Other codes are impossible, but the object may contain anything.
  if (!code.is_number_integer() || code < 0 || code > 255)
    return Exit::unknown(reason.empty() ? "not told" : reason);
  auto number = code.get<int>();
  if (signal.is_number_integer() && signal > 0 && signal <= last_signal)
    number = -signal.get<int>();
  else if (number > signals && number <= signals + last_signal)
    number = signals - number;
  auto exit = Exit::known(number);
  if (reason == "OOMKilled")
    exit.detail = memory_mb > 0 ? "OOMKilled, limit " + std::to_string(memory_mb) + " MiB"
                                : "OOMKilled";
  else if (reason == "ContainerCannotRun" || reason == "StartError")
    exit.detail = in_words(terminated);
  return exit;
}

bool is_disrupted(const json& pod, const json& status) {
  constexpr std::array<std::string_view, 6> reasons{
    "Evicted", "Preempting", "Shutdown", "NodeShutdown", "NodeLost", "Terminated"};
  if (!text(pod, "metadata", "deletionTimestamp").empty() ||
      one_of(text(status, "reason"), reasons))
    return true;
  for (auto& condition : part(status, "conditions"))
    if (text(condition, "type") == "DisruptionTarget" &&
        text(condition, "status") == "True")
      return true;
  return false;
}

/// Returns what a pod without a node waits for. A claim that does not exist does not come
/// by itself.
JobEvent::Wait wait_for_node(const json& scheduled) {
  constexpr std::array<std::string_view, 2> patient{"Unschedulable", "SchedulingGated"};
  auto mends = one_of(text(scheduled, "reason"), patient) &&
               text(scheduled, "message").find("\" not found") == std::string::npos;
  return mends ? JobEvent::Wait::room : JobEvent::Wait::blocked;
}

void note_wait(PodState& result, const json& pod, const json& waiting) {
  constexpr std::array<std::string_view, 2> sandbox_is_there{
    "PodReadyToStartContainers", "PodHasNetwork"}; // Since Kubernetes 1.29; 1.25 to 1.28.
  auto reason = text(waiting, "reason");
  if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing") {
    result.waits_for = in_words(waiting);
    return;
  }
  for (auto& condition : part(pod, "status", "conditions")) {
    auto type = text(condition, "type"), is = text(condition, "status");
    if (type == "PodScheduled" && is == "False") {
      result.waits_for = in_words(condition);
      result.wait = wait_for_node(condition);
    } else if (one_of(type, sandbox_is_there) && is == "True" &&
               reason == "ContainerCreating") {
      result.waits_for =
        "the node gets image " +
        text(named(part(pod, "spec", "containers"), container_name), "image");
      result.wait = JobEvent::Wait::turn;
    }
  }
}

} // namespace

PodState read_pod(const json& pod, std::size_t memory_mb) {
  constexpr std::array<std::string_view, 2> hopeless{"InvalidImageName",
                                                     "ErrImageNeverPull"};
  PodState result;
  auto& status = part(pod, "status");
  auto phase = text(status, "phase");
  auto& state = part(named(part(status, "containerStatuses"), container_name), "state");
  auto& terminated = part(state, "terminated");
  auto& waiting = part(state, "waiting");
  result.disrupted = is_disrupted(pod, status);
  result.started = part(state, "running").is_object() || terminated.is_object();
  if (terminated.is_object() && text(terminated, "reason") != "ContainerStatusUnknown")
    result.exit = exit_of(terminated, memory_mb), result.seen = true;
  else if (phase == "Failed" || phase == "Succeeded")
    result.exit = Exit::unknown(in_words(status).empty() ? phase : in_words(status));
  if (result.exit && result.disrupted && !in_words(status).empty())
    result.exit->detail += " (" + in_words(status) + ")";
  if (!result.started && !result.exit) {
    note_wait(result, pod, waiting);
    result.never = one_of(text(waiting, "reason"), hopeless);
  }
  return result;
}

} // namespace fiber::backends::kubernetes
