// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/chaos.hpp"
#include "actors/pool/running_table.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/trace/trace.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

/// Records in the trace which task was where, and what happened to workers. A worker is
/// identified by its rank, so it keeps its row when its job is replaced.
///
/// Times that a job reports are clamped to what the driver knows: a task runs after it
/// was sent and after the task before it, and until its result arrived. A task that began
/// before this object was made begins with it.
///
/// Thread safety: any thread may call chaos(), only the pool the other functions.
class PoolTrace {
public:
  /// `nested`: a worker runs tasks inside others.
  PoolTrace(std::shared_ptr<Trace> trace, std::uint32_t pool, const std::string& name,
            bool nested);

  /// The tasks were queued.
  static void queue(TaskRange& tasks);
  /// The tasks were sent to a worker.
  void send(std::size_t worker, TaskRange& tasks);
  /// The i-th of these results belongs to this task.
  void take(std::size_t worker, const TaskRange& task, const TaskResults& results,
            std::size_t i);
  /// A slot will not answer these tasks any more. If it has not announced its last start,
  /// the first one was running.
  void drop(const Node& node, std::size_t slot, const std::deque<RunningRange>& tasks,
            TraceSpan::Outcome outcome);

  /// A worker gets a copy of a task that worker `first` runs.
  void copy(std::size_t worker, std::size_t first, const TaskRange& task);

  /// Gives the workers of a node their rows. They were up before.
  void show(const Node& node);
  void worker_up(const Node& node);
  void worker_lost(std::size_t first_worker, std::size_t workers, const NodeLost& lost,
                   bool planned);
  /// Fault injection is about to kill or stall the job of a worker.
  void chaos(std::size_t worker, Chaos::Fate fate);

private:
  struct Row {
    TraceSpan::Time free_since;   ///< End of its last task.
    TraceSpan::Time sent_at = {}; ///< When its last task was sent.
    /// Span of results that return together, so far.
    std::optional<TraceSpan> back = {};
    bool named = false;
  };

  Row& row(std::size_t worker);
  /// Names the row; false if it was named before.
  bool name(std::size_t worker);
  void gather(Row& state, const TraceSpan& run, bool first, bool last);
  TraceSpan span(TraceSpan::Kind kind, std::size_t worker, const TaskRange& tasks) const;

  std::shared_ptr<Trace> trace_;
  const std::uint32_t pool_;
  const bool nested_;
  const TraceSpan::Time since_ = Trace::Clock::now();
  std::vector<Row> rows_;
};

// -- to a pool --

/// Records what the pool does in this trace from now on; null: no more.
struct TraceTasks {
  std::shared_ptr<PoolTrace> trace;
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::TraceTasks)
