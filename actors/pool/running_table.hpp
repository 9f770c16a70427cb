// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <caf/actor.hpp>

#include "actors/pool/task_queue.hpp"
#include "backends/backend.hpp"

namespace fiber::actors {

/// Tasks that a slot has not yet answered.
struct RunningRange {
  TaskRange tasks;
  std::uint64_t first_seq = 0;
};

/// The running table of one worker slot: the tasks that were sent to it, in order.
///
/// A result counts only if its (incarnation, slot, sequence number) is listed here. Each
/// entry leaves once: answered, handed back or lost.
class Slot {
public:
  /// Appends tasks; returns the sequence number of the first one.
  std::uint64_t assign(TaskRange tasks);
  /// Removes the oldest task, which has ended, if `seq` is its number.
  std::optional<TaskRange> finish(std::uint64_t seq);
  /// Removes any listed task: on an inline session a task that waits runs later ones
  /// meanwhile.
  std::optional<TaskRange> finish_nested(std::uint64_t seq);
  /// Removes the tasks with numbers from `from_seq` up to but excluding `to_seq`.
  std::vector<TaskRange> hand_back(std::uint64_t from_seq, std::uint64_t to_seq);
  /// Marks a task, or all tasks of a call, as ended, and returns those that were not
  /// marked before. They stay until they are answered, handed back or lost.
  std::optional<TaskRange> abandon(std::uint64_t seq);
  std::vector<TaskRange> abandon_call(std::uint64_t call);
  /// Abandons a task that another copy has ended; false if it was ended already.
  bool overtake(std::uint64_t seq);
  /// Returns whether an abandoned task with this number or a lower one is still here.
  bool has_abandoned(std::uint64_t seq) const;
  /// Gives the oldest task that has neither ended nor a copy a separate range; null if
  /// there is none.
  RunningRange* single_out_uncopied();
  bool is_oldest(const RunningRange& range) const { return &range == &running_.front(); }
  /// Removes all tasks; each range comes with its first number.
  std::deque<RunningRange> take_all();
  std::size_t outstanding() const { return outstanding_; }
  /// Returns the number of the last task that it was given.
  std::uint64_t last_seq() const { return next_seq_ - 1; }
  /// Returns the call of the oldest task. Requires a task.
  const Call& call() const { return *running_.front().tasks.batch->call; }
  bool holds(std::uint64_t call) const;

  bool recall_pending = false; ///< The slot has not yet answered a recall.
  bool recall_rest = false;    ///< Recall all other tasks after that answer.
  /// When the slot last got tasks or answered.
  std::chrono::steady_clock::time_point last_progress;

private:
  using Place = std::deque<RunningRange>::iterator;

  Place find(std::uint64_t seq);
  /// Gives the task a range of its own.
  Place single_out(Place range, std::uint64_t seq);

  std::deque<RunningRange> running_;
  std::uint64_t next_seq_ = 1;
  std::size_t outstanding_ = 0;
};

/// A worker job of a pool, as the pool sees it.
struct Node {
  std::uint64_t incarnation = 0;
  std::string name; ///< Its name as the supervisor's child; a replacement has the same.
  std::string job;
  std::size_t first_rank = 0; ///< Rank of its first slot within the pool.
  caf::actor link;
  std::shared_ptr<backends::SharedPage> page;
  std::vector<Slot> slots;
  std::chrono::steady_clock::time_point ready_since;
  std::set<std::uint64_t> opened; ///< Calls whose callable it has.
  /// Calls that are over, which it is to be told with the next frame.
  std::vector<std::uint64_t> ended_calls;
  bool draining = false; ///< It gets no more tasks and ends when it has none.
  bool retired = false;  ///< It was told to end.
  bool doomed = false;   ///< It was killed for a task that did not stop.
  bool reserved = false; ///< It is kept free for a suspect, or runs one.
  /// Tasks that it may still get (max_tasks_per_worker).
  std::size_t tasks_left = SIZE_MAX;

  bool idle() const;
  std::size_t outstanding() const;
  /// Returns how many slots have a task, of which each runs the oldest.
  std::size_t running() const;
  /// Returns the number of the last task that a slot has announced as started; 0 if
  /// unknown.
  std::uint64_t started(std::size_t slot) const;
};

/// How a slot of a local job announces the task that it starts: in one cache line per
/// slot of the shared page, before the job's ledger.
struct SlotProgress {
  static constexpr std::size_t stride = 64;
  static void announce(std::byte* page, std::size_t slot, std::uint64_t seq);
  static std::uint64_t started(const std::byte* page, std::size_t slot);
};

} // namespace fiber::actors
