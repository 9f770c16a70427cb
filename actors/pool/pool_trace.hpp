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

namespace fiber::actors {

/// What a pool tells the trace: which of its tasks was where, and what became of its
/// workers. A worker is known by its rank: it keeps its row when its job is replaced.
///
/// What a job says of its time is not believed beyond what the driver knows: a task runs
/// after it was sent and after the one before it, and until its result arrived.
///
/// Thread safety: chaos() may be called by any thread, all else by the pool alone.
class PoolTrace {
public:
  /// `nested`: a worker runs tasks within others.
  PoolTrace(std::shared_ptr<Trace> trace, std::uint32_t pool, const std::string& name,
            bool nested);

  /// The tasks wait from now on.
  static void queue(TaskRange& tasks);
  /// They go to a worker.
  void send(std::size_t worker, TaskRange& tasks);
  /// The i-th of these results is this task's.
  void take(std::size_t worker, const TaskRange& task, const TaskResults& results,
            std::size_t i);
  /// A slot will not answer these any more. If it has not announced which one it had
  /// started last, it was the first.
  void drop(const Node& node, std::size_t slot, const std::deque<RunningRange>& tasks,
            TraceSpan::Outcome outcome);

  /// A worker gets a second copy of a task that another one is at.
  void copy(std::size_t worker, std::size_t first, const TaskRange& task);

  void worker_up(const Node& node);
  void worker_lost(std::size_t first_worker, std::size_t workers, const NodeLost& lost,
                   bool planned);
  /// A worker is about to do this to its job.
  void chaos(std::size_t worker, Chaos::Fate fate);

private:
  struct Row {
    TraceSpan::Time free_since;    ///< End of its last task.
    TraceSpan::Time sent_at;       ///< When its last task was.
    std::optional<TraceSpan> back; ///< Results that return together, being gathered.
    bool named = false;
  };

  Row& row(std::size_t worker);
  /// False if it has been named before.
  bool name(std::size_t worker);
  void gather(Row& at, const TraceSpan& run, bool first, bool last);
  TraceSpan span(TraceSpan::Kind kind, std::size_t worker, const TaskRange& tasks) const;

  std::shared_ptr<Trace> trace_;
  const std::uint32_t pool_;
  const bool nested_;
  std::vector<Row> rows_;
};

} // namespace fiber::actors
