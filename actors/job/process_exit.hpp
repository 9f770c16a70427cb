// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/protocol/node_boot.hpp"
#include "actors/protocol/node_protocol.hpp"

namespace fiber::actors {

/// The code that a job exits with when its one task has left `result`. A process says on
/// stderr what it threw, as nobody else would ever tell.
int process_exit_code(const NodeBoot& boot, TaskResult::Status status,
                      const Bytes& result);

} // namespace fiber::actors
