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

/// A callable as a job got it.
struct CallCode {
  std::uint64_t call = 0;
  bool single = false; ///< For one task: nothing of it is kept.
  detail::Open open = nullptr;
  std::string problem; ///< Why `open` is null.
  Payload state;
};

/// One worker slot of a node: a queue of tasks and the thread that runs them, one at a
/// time and in order. The thread writes its results to the link itself.
///
/// It is told of time limits by who asks it: check_deadline().
///
/// Thread safety: run() and step() belong to the slot's thread, all else to any.
class SlotWorker final : public TaskHost {
public:
  using Clock = std::chrono::steady_clock;

  struct Settings {
    std::uint32_t slot = 0;
    std::size_t rank = 0;
    std::shared_ptr<wire::Link> link;
    std::shared_ptr<backends::SharedPage> page; ///< Null: starts are not announced.
    /// Asks for flush_results() in so long. Called at most once until that happens.
    std::function<void(std::chrono::milliseconds)> request_flush;
    /// Of the link's reactor, for a thread that waits for tasks; null: none.
    std::shared_ptr<wire::Leadership> leadership = nullptr;
    std::chrono::nanoseconds task_timeout{0}; ///< How long a task may run; 0: no limit.
    /// Called as a task starts; empty: nothing is.
    std::function<void(std::uint64_t call, const TaskContext& task)> before_task =
      nullptr;
    bool timed = false; ///< Results say when their tasks ran.
    std::size_t most_result_bytes = most_value_bytes; ///< Of one task.
    /// Called with what a task left as it has ended, before anybody hears of that; empty:
    /// nothing is.
    std::function<void(TaskResult::Status status, const Bytes& result)> after_task =
      nullptr;
    /// Keeps what handles in results stand for until the driver does; null: nothing does.
    std::shared_ptr<ObjectSpace> objects = nullptr;
  };
  explicit SlotWorker(Settings settings);

  /// Runs `initializer` as the first thing on this thread. Throws what it throws.
  void initialize(const CallCode& initializer);
  /// Runs tasks until finish() was called and nothing is left.
  void run();
  /// Runs one task; false if there is none. For a thread that does other things as well.
  bool step();

  void push(RunTasks tasks, std::shared_ptr<const CallCode> code);
  /// Takes back up to `most` tasks that have not started, last first.
  HandedBack recall(std::size_t most);
  /// Tells the running task to stop, if it is of this call.
  void stop(std::uint64_t call);
  /// Tells the task with this number to stop; one that waits does not run at all.
  void stop_task(std::uint64_t seq);
  /// Whether the running task has come to its limit, told once and to itself as well; and
  /// when to ask again, which is no use as long as there is nothing to run.
  struct DeadlineCheck {
    std::optional<std::uint64_t> overdue; ///< Its number.
    std::optional<Clock::time_point> again;
  };
  DeadlineCheck check_deadline(Clock::time_point now);
  std::stop_token stop_token() override;
  /// No task of this call will come any more.
  void close(std::uint64_t call);
  /// Ends run() when nothing is left.
  void finish();
  /// Whether finish() was called and nothing is left.
  bool finished();
  /// Sends results that were held back.
  void flush_results();

private:
  struct Queued {
    RunTasks tasks;
    std::shared_ptr<const CallCode> code;
    std::size_t next = 0;    ///< Which task is next.
    std::uint64_t begin = 0; ///< Where its arguments begin.
  };
  struct Task {
    std::shared_ptr<const CallCode> code;
    std::uint64_t seq = 0;
    TaskContext context;
    std::chrono::microseconds hold; ///< Its result may wait for so long.
    Payload arguments;
    bool last = false;                      ///< Nothing else was waiting.
    bool unwanted = false;                  ///< It was told to stop before it began.
    std::vector<std::uint64_t> closed = {}; ///< Calls to forget by the way.
  };

  struct Running {
    std::uint64_t call = 0, seq = 0;
    Clock::time_point since;
    bool stopped = false; ///< It was told to stop.
    bool overdue = false;
    bool ended = false; ///< No deadline any more.
  };

  template <class Which>
  void stop_if(Which is_meant);
  std::optional<Task> take();
  std::optional<Task> wait_for_task();
  void run_task(const Task& task);
  bool ends_overdue();
  static std::unique_ptr<detail::Body> open(const CallCode& code);
  detail::Body& body(const CallCode& code);
  void add_result(const Task& task, TaskResult::Status status, Bytes& value, Payload tail,
                  detail::KeptObjects kept, Clock::time_point begin);
  void flush_locked();

  Settings settings_;
  // Of the slot's thread.
  std::map<std::uint64_t, std::unique_ptr<detail::Body>> bodies_;
  Bytes scratch_;
  // The queue.
  std::mutex mutex_;
  wire::Waiter changed_;
  std::deque<Queued> queue_;
  std::vector<std::uint64_t> closed_;
  std::optional<Running> running_;
  std::stop_source stop_{std::nostopstate}; ///< Of the running task, if it has asked.
  std::uint64_t next_seq_ = 1;              ///< Behind the last task it got.
  std::vector<std::uint64_t> unwanted_;     ///< Tasks that wait and need not run.
  bool finishing_ = false;
  // Results that are held back.
  std::mutex results_mutex_;
  TaskResults pending_;
  Bytes values_;
  Payload tail_;             ///< Of the last value.
  detail::KeptObjects kept_; ///< What handles in values_ refer to.
  Clock::time_point oldest_;
  bool flush_requested_ = false;
};

} // namespace fiber::actors
