// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "backends/job_entry.hpp"

namespace fiber::actors {

/// Is the node of this job until the driver retires it, the link closes or the lease runs
/// out; then the process ends. The calling thread becomes the first slot. `at_end` runs
/// when the last task has ended.
[[noreturn]] void run_node(backends::JobEntry entry, const std::function<void()>& at_end);

} // namespace fiber::actors
