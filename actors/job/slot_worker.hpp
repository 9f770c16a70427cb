// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "actors/core/task_context.hpp"
#include "actors/objects/object_space.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "backends/backend.hpp"
#include "wire/leadership.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// The callable of a call, as a job received it.
struct CallCode {
  std::uint64_t call = 0;
  bool single = false; ///< For one task only: the callable is not cached.
  detail::Open open = nullptr;
  std::string problem; ///< Why `open` is null.
  Payload state;
};

/// One worker slot of a node: a queue of tasks and the thread that runs them, one at a
/// time and in order. The thread writes its results to the link itself.
///
/// It has no timer: its owner calls check_deadline() for time limits.
///
/// Thread safety: only the slot's thread may call initialize(), run() and step(); any
/// thread may call the other functions.
class SlotWorker final : public TaskHost {
public:
  using Clock = std::chrono::steady_clock;

  struct Settings {
    std::uint32_t slot = 0;
    std::size_t rank = 0;
    std::shared_ptr<wire::Link> link;
    std::shared_ptr<backends::SharedPage> page; ///< Null: starts are not announced.
    /// Called to request flush_results() after this time; at most once until then.
    std::function<void(std::chrono::milliseconds)> request_flush;
    /// Leadership of the link's reactor, for a thread that waits for tasks; may be null.
    std::shared_ptr<wire::Leadership> leadership = nullptr;
    std::chrono::nanoseconds task_timeout{0}; ///< How long a task may run; 0: no limit.
    /// Called as a task starts; may be empty.
    std::function<void(std::uint64_t call, const TaskContext& task)> before_task =
      nullptr;
    bool timed = false; ///< Results include when their tasks ran, see time_results().
    std::size_t max_result_bytes = max_value_bytes; ///< Limit for one task.
    /// Called with the result of a task before it is sent; may be empty.
    std::function<void(TaskResult::Status status, const Bytes& result)> after_task =
      nullptr;
    /// Keeps the objects of handles in results alive until the driver does; may be null.
    std::shared_ptr<ObjectSpace> objects = nullptr;
  };
  explicit SlotWorker(Settings settings);

  /// Runs `initializer` before any task. Throws its exceptions.
  void initialize(const CallCode& initializer);
  /// Runs tasks until finish() was called and no task is left.
  void run();
  /// Runs one task; false if there is none. For a thread that has other work as well.
  bool step();

  void push(RunTasks tasks, std::shared_ptr<const CallCode> code);
  /// Removes up to `most` tasks that have not started, last first.
  HandedBack recall(std::size_t most);
  /// Tells the running task to stop, if it belongs to this call.
  void stop(std::uint64_t call);
  /// Tells the task with this number to stop; a waiting task ends without running.
  void stop_task(std::uint64_t seq);
  /// Reports once that the running task has reached its limit, and tells the task to
  /// stop. Also returns when to check again; nothing if there is no task.
  struct DeadlineCheck {
    std::optional<std::uint64_t> overdue; ///< Number of the overdue task.
    std::optional<Clock::time_point> again;
  };
  DeadlineCheck check_deadline(Clock::time_point now);
  std::stop_token stop_token() override;
  /// No more tasks of this call will come: drops its callable.
  void close(std::uint64_t call);
  /// Ends run() when no task is left.
  void finish();
  /// Returns whether finish() was called and no task is left.
  bool finished();
  /// Sends results that were held back.
  void flush_results();
  /// Sets whether later results include when their tasks ran.
  void time_results(bool timed);

private:
  struct Queued {
    RunTasks tasks;
    std::shared_ptr<const CallCode> code;
    std::size_t next = 0;    ///< Position of the next task.
    std::uint64_t begin = 0; ///< Where the arguments of that task begin.
  };
  struct Task {
    std::shared_ptr<const CallCode> code;
    std::uint64_t seq = 0;
    TaskContext context;
    std::chrono::microseconds hold; ///< How long its result may wait.
    Payload arguments;
    bool last = false;          ///< No other task was waiting.
    bool stopped_early = false; ///< It was told to stop before it began.
    /// Ended calls. Their callables are dropped once this task has its own callable.
    std::vector<std::uint64_t> closed_calls = {};
  };

  struct Running {
    std::uint64_t call = 0, seq = 0;
    Clock::time_point since;
    bool stopped = false; ///< It was told to stop.
    bool overdue = false;
    bool ended = false; ///< It has ended, so no deadline applies.
  };

  template <class Which>
  void stop_if(Which is_meant);
  std::optional<Task> take();
  std::optional<Task> wait_for_task();
  void run_task(const Task& task);
  bool ends_overdue();
  static std::unique_ptr<detail::Body> open(const CallCode& code);
  detail::Body& body(const CallCode& code);
  /// Drops the callables of calls that are over, but not that of call `but`: a task that
  /// the driver has given up runs though its call is over.
  void drop(const std::vector<std::uint64_t>& calls,
            std::uint64_t but = initializer_call);
  void add_result(const Task& task, TaskResult::Status status, Bytes& value, Payload tail,
                  detail::KeptObjects kept, Clock::time_point begin);
  void flush_locked();

  Settings settings_;
  // Used by the slot's thread only.
  std::map<std::uint64_t, std::unique_ptr<detail::Body>> bodies_;
  Bytes scratch_;
  // The queue, guarded by mutex_.
  std::mutex mutex_;
  wire::Waiter changed_;
  std::deque<Queued> queue_;
  std::vector<std::uint64_t> closed_calls_;
  std::optional<Running> running_;
  std::stop_source stop_{std::nostopstate};  ///< Of the running task, once it has asked.
  std::uint64_t next_seq_ = 1;               ///< The number after that of the last task.
  std::vector<std::uint64_t> stopped_early_; ///< Waiting tasks that were told to stop.
  bool finishing_ = false;
  // Results that are held back, guarded by results_mutex_.
  std::mutex results_mutex_;
  TaskResults pending_;
  Bytes values_;
  Payload tail_;             ///< The large part of the last value.
  detail::KeptObjects kept_; ///< Objects of the handles in values_.
  Clock::time_point oldest_; ///< When the first of these tasks began.
  bool flush_requested_ = false;
};

} // namespace fiber::actors
