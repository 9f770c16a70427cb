// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "actors/pool/running_table.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "actors/roster/task_stream.hpp"

namespace fiber::actors {

/// Adds to the stream that observers see what a frame of results answers; `first` is its
/// first task. Nothing is asked of jobs for it: a frame says how long its tasks ran.
void show_results(TaskStream& stream, const std::string& pool, const Node& node,
                  const TaskRange& first, const TaskResults& frame);

/// Adds the tasks that a slot of a lost node had.
void show_loss(TaskStream& stream, const std::string& pool, const Node& node,
               std::size_t slot, const std::deque<RunningRange>& had);

} // namespace fiber::actors
