// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stop_token>

namespace fiber::actors {

/// Runs tasks.
class TaskHost {
public:
  /// Returns the token that tells the running task to stop.
  virtual std::stop_token stop_token() = 0;

protected:
  ~TaskHost() = default;
};

/// What a task may know of itself; set on the slot's thread while the task runs.
struct TaskContext {
  std::size_t index = 0;
  int attempt = 1;
  std::size_t rank = 0;
  TaskHost* host = nullptr;

  /// Returns the context of this thread's task; null if it runs none.
  static const TaskContext* current();
};

/// Makes `context` the current one of this thread while it lives.
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
