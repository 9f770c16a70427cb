// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include "actors/core/reply.hpp"
#include "actors/crash/crash_report.hpp"
#include "actors/protocol/call.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "actors/protocol/pool_report.hpp"
#include "backends/backend.hpp"

// The messages of the driver's actors. They stay within one process: what crosses a link
// is in node_protocol.hpp.

namespace fiber::actors {

// -- to a pool, from its users --

/// Tasks to run. The first one of a pool starts its workers.
struct Submit {
  std::shared_ptr<const Batch> batch;
};
/// No more tasks of this call will come.
struct EndCall {
  std::uint64_t call = 0;
};
/// End the tasks of this call as Cancelled; what has started is told to stop.
struct CancelCall {
  std::uint64_t call = 0;
};
struct StartWorkers {};
struct Resize {
  std::size_t workers = 0;
};
/// From now on as many workers as the tasks can use. Ended by Resize.
struct Autoscale {
  std::size_t least = 0, most = 1;
  std::chrono::milliseconds idle{0}; ///< Those go that had nothing to do for so long.
};
/// No more calls will come: end when all tasks have ended.
struct ClosePool {};
/// Cancel every task and end the workers now.
struct TerminatePool {};
/// Set the reply when all workers are up, or why they never will be.
struct AwaitWorkers {
  std::shared_ptr<WorkersReply> up;
};
struct AskStats {
  std::shared_ptr<StatsReply> reply;
};

struct AskReport {
  std::shared_ptr<ReportReply> reply;
};

// -- to a pool, from its nodes --

/// The engine has accepted a node's job. Pools are not told.
struct NodeCreated {
  std::uint64_t incarnation = 0;
  backends::JobId job;
};
/// A node is ready for tasks. `link` takes NodeFrames.
struct NodeUp {
  std::uint64_t incarnation = 0;
  std::string name;
  std::string job;
  std::size_t slots = 1;
  caf::actor link;
  std::shared_ptr<backends::SharedPage>
    page;      ///< What each slot has started, if it can be shared.
  int pid = 0; ///< Of its process, as that sees it.
};
struct NodeResults {
  std::uint64_t incarnation = 0;
  TaskResults results;
};
struct NodeHandedBack {
  std::uint64_t incarnation = 0;
  HandedBack what;
};
struct NodeOverdue {
  std::uint64_t incarnation = 0;
  Overdue what;
};
/// Somebody asked the job to end.
struct NodeDraining {
  std::uint64_t incarnation = 0;
};
/// A shared value, or the initializer, went to the node.
struct NodeShare {
  std::uint64_t bytes = 0;
};
/// What tells one loss from another for who has to mend it.
enum class LossCause : std::uint8_t {
  ended,       ///< The job ended, or had to be given up.
  refused,     ///< The engine made no job.
  late,        ///< It was not ready within the start deadline.
  unreachable, ///< It could not reach us.
  other_build  ///< It runs another build: so will the next one.
};
/// A node is gone. The pool answers with the ExitKind to end with, as its supervisor will
/// judge by it.
struct NodeLost {
  std::uint64_t incarnation = 0;
  std::string name;
  std::optional<int> exit_code;
  bool lease = false;         ///< It ended since it had not heard from us.
  bool declared_dead = false; ///< It may still run, and will not be believed.
  bool planned = false;       ///< It was asked to end, and said so.
  bool confirmed = false; ///< The engine says that it has ended; else it may still run.
  std::string reason;
  LossCause cause = LossCause::ended;
  int status = 0; ///< refused: errno or HTTP status, 0 if there is none.
  LastOutput last = {};
  std::string output = {}; ///< What it wrote, if its template keeps that.
};

// -- to a node's link --

/// A message for the job.
struct NodeFrame {
  Bytes head;
  Payload body;
};
/// End the job at once.
struct KillNode {};
/// The same for a job that may not be there yet, with time to end by itself.
struct EndNode {
  std::chrono::milliseconds grace{0};
};

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::Submit)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::EndCall)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::CancelCall)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::StartWorkers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::Resize)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::Autoscale)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ClosePool)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::TerminatePool)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::AwaitWorkers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::AskStats)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::AskReport)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeCreated)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeUp)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeResults)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeHandedBack)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeOverdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeDraining)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeShare)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeLost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::NodeFrame)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::KillNode)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::EndNode)
