// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/core/reply.hpp"
#include "actors/pool/pool_actor.hpp"
#include "actors/process/process_trace.hpp"
#include "actors/protocol/call.hpp"
#include "fiber/detail/caf/message_type.hpp"

// This folder holds processes: the driver's actor of a job that runs one task and exits.

namespace fiber::actors {

/// How a process has ended.
struct ProcessEnd {
  std::optional<int> exit_code = {}; ///< 0..255, -N for signal N, nothing if unknown.
  std::exception_ptr problem; ///< Why it never ran; null if it ran or was ended before.
  std::string output;         ///< The end of its output.
};

/// Facts about a process, each set once by its actor.
struct ProcessNews {
  Reply<std::string> job; ///< The engine's name of its job; empty if it never had one.
  Reply<int> pid;         ///< 0 if it never ran.
  Reply<std::shared_ptr<const ProcessEnd>> end;
};

struct ProcessSettings {
  std::string name;
  /// Its one task. The callable and the arguments are kept until it has ended. Without a
  /// sink the task returns an int, the exit code.
  std::shared_ptr<const TaskBatch> task;
  /// The number of this run of the task, and the noun for the task's index, as the task
  /// and RemoteError show them.
  int attempt = 1;
  const char* counts = "task";
  bool nested = false; ///< It runs on a thread of this process, and can't be killed.
  /// Starts the actor that represents its job, as PoolSettings::start_node does.
  std::function<caf::actor(caf::event_based_actor* parent, const caf::actor& process,
                           const NodeOrder& order)>
    start_node;
  caf::actor backend; ///< The job backend, which has the job's output.
  std::shared_ptr<ProcessNews> news = std::make_shared<ProcessNews>();
  std::shared_ptr<ProcessTrace> trace = nullptr; ///< Null: no trace.
  /// Called once when it has ended, before `news` reports that.
  std::function<void()> ended = nullptr;
};

/// Ends the process by SIGTERM, or by SIGKILL if it runs on for longer than `grace`.
struct EndProcess {
  std::chrono::milliseconds grace{0}; ///< 0: SIGKILL at once.
};
/// Cancels the task: tells it to stop, and kills the process if it does not.
struct CancelProcess {};
/// Sets the reply to the output so far.
struct AskProcessLogs {
  std::shared_ptr<Reply<std::string>> reply;
};

/// Starts the actor of one process: a job with one node, which runs one task and then
/// exits. Whatever happens, its news reports its end once, and its task's sink gets one
/// outcome. A task that may have started is never retried.
///
/// The actor takes the place of a pool for its node (messages.hpp). It ends with the job.
caf::actor spawn_process(caf::actor_system& system, ProcessSettings settings);

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::EndProcess)
FIBER_ACTOR_MESSAGE(fiber::actors::CancelProcess)
FIBER_ACTOR_MESSAGE(fiber::actors::AskProcessLogs)
