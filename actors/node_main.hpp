// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/job_entry.hpp"

namespace fiber::actors {

/// Is the node of this job until the driver retires it, the link closes or the lease runs
/// out; then the process ends. The calling thread becomes the first slot.
[[noreturn]] void run_node(backends::JobEntry entry);

} // namespace fiber::actors
