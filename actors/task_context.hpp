// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace fiber::actors {

/// What a task may know of itself; set on the slot's thread while one runs.
struct TaskContext {
  std::size_t index = 0;
  int attempt = 1;
  std::size_t rank = 0;

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
