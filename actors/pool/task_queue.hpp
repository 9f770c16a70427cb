// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/protocol/call.hpp"

namespace fiber::actors {

/// The two copies of a task that two workers run. The first result counts; the other copy
/// is ignored.
struct Twin {
  struct Place {
    std::uint64_t incarnation = 0;
    std::size_t slot = 0;
    std::uint64_t seq = 0;
  };
  std::array<Place, 2> places;   ///< Where the copies were sent.
  std::uint32_t copies_left = 2; ///< Copies that workers still have.
  bool ended = false;            ///< The caller has the result.
  std::uint32_t attempt = 1;     ///< Attempt of the later copy.
};

/// Consecutive tasks of a batch with the same attempt, charges and copies.
struct TaskRange {
  std::shared_ptr<const TaskBatch> batch;
  std::uint32_t from = 0, to = 0; ///< Within the batch; `to` is excluded.
  std::uint32_t attempt = 1;      ///< Number of the current run, or of the next.
  bool ended = false;        ///< The caller has the result; a worker may still run it.
  bool overtaken = false;    ///< The result came from another copy.
  std::uint32_t charges = 0; ///< Lost workers that these tasks were charged with.
  /// Exit codes of those workers.
  std::shared_ptr<const std::vector<std::optional<int>>> exits;
  std::shared_ptr<Twin> twin = {}; ///< Not null for a single task with two copies.
  // For the trace, if there is one.
  std::chrono::steady_clock::time_point queued_at = {}; ///< When it was queued.
  std::chrono::steady_clock::time_point sent_at = {};   ///< When a worker got it.

  std::size_t size() const { return to - from; }
  std::uint64_t call() const { return batch->call->id; }
  /// Cuts off the first `n` tasks.
  TaskRange split(std::size_t n) {
    auto front = *this;
    front.to = from + static_cast<std::uint32_t>(n);
    from = front.to;
    return front;
  }
};

/// Every accepted task that no worker has, in the order in which they are to run.
///
/// Requeued tasks come first. Suspects, tasks that were charged with a lost worker, are
/// kept apart since each runs alone.
class TaskQueue {
public:
  /// Appends new tasks.
  void add(TaskRange range);
  /// Puts requeued tasks before all others.
  void put_back(TaskRange range);
  /// Adds one suspect.
  void suspect(TaskRange task);

  /// Takes the next tasks: at most `most`, with about `max_bytes` of arguments, but at
  /// least one.
  TaskRange take(std::size_t most, std::size_t max_bytes);
  TaskRange take_suspect();
  /// Returns the range that take() would take from.
  const TaskRange& next() const { return waiting_.front(); }

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return size_; }
  std::size_t suspects() const { return suspects_.size(); }
  /// Removes all tasks of a call, suspects too; those of all calls if `call` is empty.
  std::vector<TaskRange> remove(std::optional<std::uint64_t> call);

private:
  std::deque<TaskRange> waiting_;
  std::deque<TaskRange> suspects_;
  std::size_t size_ = 0; ///< Number of tasks in waiting_.
};

} // namespace fiber::actors
