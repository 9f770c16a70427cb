// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stop_token>

namespace fiber::actors {

/// What runs a task.
class TaskHost {
public:
  /// Of the task that runs: whether somebody wants it to stop.
  virtual std::stop_token stop_token() = 0;

protected:
  ~TaskHost() = default;
};

/// What a task may know of itself; set on the slot's thread while one runs.
struct TaskContext {
  std::size_t index = 0;
  int attempt = 1;
  std::size_t rank = 0;
  TaskHost* host = nullptr;

  /// Of this thread; null if it runs no task.
  static const TaskContext* current();
};

/// Makes `context` the current one of this thread.
class TaskScope {
public:
  explicit TaskScope(const TaskContext& context);
  ~TaskScope();
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

private:
  const TaskContext* outer_;
};

} // namespace fiber::actors
