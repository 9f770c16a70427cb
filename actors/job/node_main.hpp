// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "backends/job_entry.hpp"

// This folder holds what runs inside a job: the node, which takes tasks from the driver,
// its slots, which run them, and the links to other jobs. A session's anchor is a job
// too.

namespace fiber::actors {

/// Runs this job as a node until the driver retires it, the link closes or the lease runs
/// out; then the process exits. The calling thread becomes the first slot. `at_end` runs
/// when the last task has ended.
[[noreturn]] void run_node(backends::JobEntry entry, const std::function<void()>& at_end);

} // namespace fiber::actors
