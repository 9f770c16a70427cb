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

/// Tasks that a slot has and has not answered.
struct RunningRange {
  TaskRange tasks;
  std::uint64_t first_seq = 0;
};

/// One worker slot as the pool sees it: what was sent to it, in order.
///
/// This is the running table. A result counts only if its (incarnation, slot, sequence
/// number) stands here, and each entry leaves once: answered, handed back or lost.
class Slot {
public:
  /// Appends; returns the sequence number of the first task.
  std::uint64_t assign(TaskRange tasks);
  /// The oldest task has ended: takes it out if `seq` is its number.
  std::optional<TaskRange> finish(std::uint64_t seq);
  /// The same for any task that is here: on an inline session a task that waits runs
  /// later ones meanwhile.
  std::optional<TaskRange> finish_nested(std::uint64_t seq);
  /// Takes out what has numbers from `from_seq` on and before `to_seq`.
  std::vector<TaskRange> hand_back(std::uint64_t from_seq, std::uint64_t to_seq);
  /// Marks a task, or all of a call, as ended, and returns what was not marked before.
  /// They stay until they are answered, handed back or lost.
  std::optional<TaskRange> abandon(std::uint64_t seq);
  std::vector<TaskRange> abandon_call(std::uint64_t call);
  /// The same for a task that another copy of it has ended; false if it had ended.
  bool overtake(std::uint64_t seq);
  /// Whether a task with this number or a lower one was so marked and is still here.
  bool has_abandoned(std::uint64_t seq) const;
  /// Gives the oldest task that has neither ended nor a second copy a range of its own;
  /// null if there is none.
  RunningRange* single_out_uncopied();
  /// Whether this is the oldest one.
  bool is_oldest(const RunningRange& range) const { return &range == &running_.front(); }
  /// Takes out everything; the first number comes with each range.
  std::deque<RunningRange> take_all();
  std::size_t outstanding() const { return outstanding_; }
  /// Number of the last task it was given.
  std::uint64_t last_seq() const { return next_seq_ - 1; }
  /// Call of the oldest task; only if there is one.
  const Call& call() const { return *running_.front().tasks.batch->call; }
  bool holds(std::uint64_t call) const;

  bool recall_pending = false; ///< An answer to a recall is under way.
  bool recall_rest = false;    ///< When it is there, the rest is to be recalled.
  std::chrono::steady_clock::time_point
    last_progress; ///< Last time it got or answered something.

private:
  using Place = std::deque<RunningRange>::iterator;

  Place find(std::uint64_t seq);
  /// In a range of its own.
  Place single_out(Place range, std::uint64_t seq);

  std::deque<RunningRange> running_;
  std::uint64_t next_seq_ = 1;
  std::size_t outstanding_ = 0;
};

/// One job of a pool.
struct Node {
  std::uint64_t incarnation = 0;
  std::string name; ///< Its name as the supervisor's child; a replacement has the same.
  std::string job;
  std::size_t first_rank = 0; ///< Of its first slot within the pool.
  caf::actor link;
  std::shared_ptr<backends::SharedPage> page;
  std::vector<Slot> slots;
  std::chrono::steady_clock::time_point ready_since; ///< When it was ready.
  std::set<std::uint64_t> opened;                    ///< Calls whose callable it has.
  bool draining = false; ///< Gets no more tasks; ends when it has none.
  bool retired = false;  ///< Was told to end.
  bool doomed = false;   ///< Was killed for a task that did not stop.
  bool reserved = false; ///< Kept free for a suspect, or runs one.
  std::size_t tasks_left =
    SIZE_MAX; ///< Tasks it may still be given (max_tasks_per_worker).

  bool idle() const;
  std::size_t outstanding() const;
  /// Number of the last task that a slot has announced as started; 0 if it can't be
  /// known.
  std::uint64_t started(std::size_t slot) const;
};

/// Where a slot of a local job announces the task it starts. One line of the shared page
/// each, in front of the job's ledger.
struct SlotProgress {
  static constexpr std::size_t stride = 64;
  static void announce(std::byte* page, std::size_t slot, std::uint64_t seq);
  static std::uint64_t started(const std::byte* page, std::size_t slot);
};

} // namespace fiber::actors
