// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/job_entry.hpp"

namespace fiber::backends::local {

/// Makes this process a zygote that takes orders on the inherited socket `control`.
/// Returns in each job it forks. If several threads run here already, says so to the
/// driver and exits.
JobEntry enter_zygote(int control);

/// The start of a job that was exec'ed on its own; its start message waits in `control`.
JobEntry enter_plain(int control);

} // namespace fiber::backends::local
