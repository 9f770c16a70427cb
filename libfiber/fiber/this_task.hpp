// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stop_token>

/// What a running task can ask about itself. None of these functions blocks; each throws
/// Error outside a task.
///
/// Thread safety: call them on the thread that runs the task.
namespace fiber::this_task {

/// Which task of its call this is, from 0.
std::size_t index();
/// Which run of this task this is, from 1: more than 1 after a lost worker or a retried
/// exception.
int attempt();
/// The number of the worker that runs the task within its pool, from 0 to workers - 1. A
/// worker that replaces another one takes over the number.
std::size_t worker_rank();
/// Tells whether this task should stop: it was cancelled, its `task_timeout` is over, or
/// a copy of it has ended (`speculate`). If it still runs after the pool's
/// `cancel_grace`, its worker is ended. Cheap to ask; another thread may use the token.
std::stop_token stop_token();

} // namespace fiber::this_task
