// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <caf/actor.hpp>

#include "actors/core/reply.hpp"
#include "actors/crash/crash_report.hpp"
#include "actors/protocol/call.hpp"
#include "actors/protocol/link_to_actor.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "actors/protocol/pool_report.hpp"
#include "backends/backend.hpp"
#include "fiber/detail/caf/message_type.hpp"

// The messages between the driver's actors. They stay within one process;
// node_protocol.hpp has the messages that cross a link.

namespace fiber::actors {

// -- to a pool, from its users --

/// Submits tasks. The first Submit of a pool starts its workers.
struct Submit {
  std::shared_ptr<const TaskBatch> batch;
};
/// No more tasks of the call will come.
struct EndCall {
  std::uint64_t call = 0;
};
/// Ends the tasks of the call as Cancelled. Running tasks are told to stop.
struct CancelCall {
  std::uint64_t call = 0;
};
struct StartWorkers {};
struct Resize {
  std::size_t workers = 0;
};
/// Scales the workers with the number of tasks, until Resize.
struct Autoscale {
  std::size_t least = 0, most = 1;
  std::chrono::milliseconds idle{0}; ///< Workers that were idle for so long are ended.
};
/// No more calls will come: the pool ends when all tasks have ended.
struct ClosePool {};
/// Cancels every task and ends the workers now.
struct TerminatePool {};
/// Sets the reply when all workers are ready, or when they can't be, with the reason.
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

/// The engine has accepted a node's job. Pools do not get this message.
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
  /// Which task each slot has started; null if memory can't be shared with the job.
  std::shared_ptr<backends::SharedPage> page;
  int pid = 0; ///< The job's pid, as the job sees it.
};
struct NodeResults {
  std::uint64_t incarnation = 0;
  TaskResults results;
  StillWaits waits = {};
};
struct NodeHandedBack {
  std::uint64_t incarnation = 0;
  HandedBack what;
  StillWaits waits = {};
};
struct NodeOverdue {
  std::uint64_t incarnation = 0;
  Overdue what;
  StillWaits waits = {};
};
/// The job was asked to end.
struct NodeDraining {
  std::uint64_t incarnation = 0;
};
/// A shared value or the initializer was sent to the node.
struct NodeShare {
  std::uint64_t bytes = 0;
};
/// Why a node was lost; decides how to recover.
enum class LossCause : std::uint8_t {
  ended,       ///< The job ended or was declared dead.
  refused,     ///< The engine created no job.
  shortage,    ///< It created none, or the job did not start, for lack of something.
  late,        ///< The job was not ready within the start deadline.
  queued,      ///< The job had no room within the queue deadline.
  unreachable, ///< The job could not reach the driver.
  other_build  ///< The job runs another build, and so would its replacement.
};
/// A node is gone. The pool answers with the ExitKind that the node's actor then ends
/// with; the supervisor decides by it.
struct NodeLost {
  std::uint64_t incarnation = 0;
  std::string name;
  std::optional<int> exit_code;
  bool lease = false;         ///< It ended itself since it heard nothing from the driver.
  bool declared_dead = false; ///< It may still run; its messages are ignored.
  bool planned = false;       ///< It was asked to end and had announced that.
  bool confirmed = false;     ///< The engine reports its end; if not, it may still run.
  std::string reason;
  LossCause cause = LossCause::ended;
  int status = 0; ///< For `refused`: errno or HTTP status; 0 if there is none.
  LastOutput last = {};
  std::string output = {}; ///< The job's output, if its template keeps it.
};

// -- to a node's link --

/// A message for the job.
struct NodeFrame {
  Bytes head;
  Payload body;

  /// Appends an operation and the bytes that belong to it. Returns whether these became
  /// the body, because they are many: then the frame is full and must be sent.
  template <class Operation>
  bool append(const Operation& operation, const Payload& bytes) {
    Writer writer(head);
    write(writer, operation);
    if (bytes.size() < own_message_bytes) {
      writer.raw(bytes.bytes().data(), bytes.size());
      return false;
    }
    body = bytes;
    return true;
  }
};
/// Ends the job at once.
struct KillNode {};
/// Ends a job that may not have started yet. It has `grace` to end by itself.
struct EndNode {
  std::chrono::milliseconds grace{0};
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::Submit)
FIBER_ACTOR_MESSAGE(fiber::actors::EndCall)
FIBER_ACTOR_MESSAGE(fiber::actors::CancelCall)
FIBER_ACTOR_MESSAGE(fiber::actors::StartWorkers)
FIBER_ACTOR_MESSAGE(fiber::actors::Resize)
FIBER_ACTOR_MESSAGE(fiber::actors::Autoscale)
FIBER_ACTOR_MESSAGE(fiber::actors::ClosePool)
FIBER_ACTOR_MESSAGE(fiber::actors::TerminatePool)
FIBER_ACTOR_MESSAGE(fiber::actors::AwaitWorkers)
FIBER_ACTOR_MESSAGE(fiber::actors::AskStats)
FIBER_ACTOR_MESSAGE(fiber::actors::AskReport)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeCreated)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeUp)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeResults)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeHandedBack)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeOverdue)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeDraining)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeShare)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeLost)
FIBER_ACTOR_MESSAGE(fiber::actors::NodeFrame)
FIBER_ACTOR_MESSAGE(fiber::actors::KillNode)
FIBER_ACTOR_MESSAGE(fiber::actors::EndNode)
