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

/// One task that two workers have. The first to end it ends it; what becomes of the other
/// copy concerns nobody.
struct Twin {
  struct Place {
    std::uint64_t incarnation = 0;
    std::size_t slot = 0;
    std::uint64_t seq = 0;
  };
  std::array<Place, 2> places; ///< Where the copies were sent.
  std::uint32_t left = 2;      ///< Copies that workers still have.
  bool ended = false;          ///< The caller has its answer.
  std::uint32_t attempt = 1;   ///< Of the later copy.
};

/// Consecutive tasks of a batch that share a history.
struct TaskRange {
  std::shared_ptr<const TaskBatch> batch;
  std::uint32_t from = 0, to = 0; ///< Within the batch; `to` is not one of them.
  std::uint32_t attempt = 1;      ///< Number of the next run, or of the run going on.
  bool ended = false;        ///< The caller has its answer; a worker may still be at it.
  bool overtaken = false;    ///< The answer was another copy's.
  std::uint32_t charges = 0; ///< Lost workers these tasks were charged with.
  std::shared_ptr<const std::vector<int>> exits; ///< How those workers ended.
  std::shared_ptr<Twin> twin = {}; ///< Of a single task that has, or had, two copies.
  // For the trace, if there is one.
  std::chrono::steady_clock::time_point queued_at = {}; ///< Began to wait.
  std::chrono::steady_clock::time_point sent_at = {};   ///< Went to a worker.

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

/// Every accepted task that no worker has: in the order in which they are to run.
///
/// Tasks that were handed out before come first; suspects, which lost a worker before,
/// are kept apart since they may run only alone.
class TaskQueue {
public:
  /// New tasks, behind all others.
  void add(TaskRange range);
  /// Tasks that come back, before all others.
  void put_back(TaskRange range);
  /// One task that was charged with a lost worker.
  void suspect(TaskRange task);

  /// The next tasks, at most `most` of them and about `most_bytes` of arguments (at least
  /// one).
  TaskRange take(std::size_t most, std::size_t most_bytes);
  TaskRange take_suspect();
  /// What take() would take from.
  const TaskRange& next() const { return waiting_.front(); }

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return size_; }
  std::size_t suspects() const { return suspects_.size(); }
  /// Takes out all tasks of a call, suspects too; of all calls if `call` is empty.
  std::vector<TaskRange> remove(std::optional<std::uint64_t> call);

private:
  std::deque<TaskRange> waiting_;
  std::deque<TaskRange> suspects_;
  std::size_t size_ = 0; ///< Tasks in waiting_.
};

} // namespace fiber::actors
