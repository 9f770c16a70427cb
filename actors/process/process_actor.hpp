// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>

#include "actors/core/reply.hpp"
#include "actors/pool/pool_actor.hpp"
#include "actors/process/process_trace.hpp"
#include "actors/protocol/call.hpp"

namespace fiber::actors {

/// How a process has ended.
struct ProcessEnd {
  /// When nobody can tell; as in Python's multiprocessing.
  static constexpr int exit_unknown = 255;

  int exit_code = exit_unknown; ///< 0..255, -N for signal N.
  std::exception_ptr problem;   ///< Why it never ran; null if it did, or need not have.
  std::string output;           ///< The last that it wrote.
};

/// What is known of a process. Its actor tells, once each.
struct ProcessNews {
  Reply<std::string> job; ///< The engine's name of its job; empty if it never had one.
  Reply<int> pid;         ///< 0 if it never ran.
  Reply<std::shared_ptr<const ProcessEnd>> end;
};

struct ProcessSettings {
  std::string name;
  /// Its one task. What is bound to it and its arguments are kept until it has ended.
  /// Without a sink the task's result is an int, the code that it exits with.
  std::shared_ptr<const TaskBatch> task;
  /// As the task itself sees it, and RemoteError tells: which run of it this is, and what
  /// the task's index counts.
  int attempt = 1;
  const char* counts = "task";
  bool nested = false; ///< It runs on a thread of this process, and can't be ended.
  /// Starts the actor that stands for its job, as PoolSettings::start_node does.
  std::function<caf::actor(caf::event_based_actor* parent, const caf::actor& process,
                           const NodeOrder& order)>
    start_node;
  caf::actor backend; ///< Is asked for what the job has written.
  std::shared_ptr<ProcessNews> news = std::make_shared<ProcessNews>();
  std::shared_ptr<ProcessTrace> trace = nullptr; ///< Null: nobody asked for one.
  /// Called once when it has ended, before its news tell.
  std::function<void()> ended = nullptr;
};

/// End the process by SIGTERM, or by SIGKILL if it goes on for longer than `grace`.
struct EndProcess {
  std::chrono::milliseconds grace{0}; ///< 0: by SIGKILL at once.
};
/// Its result is wanted no more: tell its task to stop, and end it if that does not.
struct CancelProcess {};
/// Set the reply to what it has written so far.
struct AskProcessLogs {
  std::shared_ptr<Reply<std::string>> reply;
};

/// One process: a job with one node, which runs one task and then exits. Whatever
/// happens, its news tell of its end once, and its task's sink gets one outcome: a task
/// that may have started is never run again.
///
/// To its node it is what a pool is to its own (messages.hpp). It ends with the job.
caf::actor spawn_process(caf::actor_system& system, ProcessSettings settings);

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::EndProcess)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::CancelProcess)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::AskProcessLogs)
