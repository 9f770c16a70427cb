// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/protocol/node_boot.hpp"
#include "actors/protocol/node_protocol.hpp"

namespace fiber::actors {

/// Returns the exit code of a job whose only task has ended with `result`. For a process
/// it also prints the uncaught exception to stderr, since nothing else would report it.
int process_exit_code(const NodeBoot& boot, TaskResult::Status status,
                      const Bytes& result);

} // namespace fiber::actors
