// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/job_entry.hpp"

namespace fiber::backends::local {

/// Turns this process into a zygote that takes requests on the inherited socket
/// `control`. Returns in each job it forks. If several threads run here already, tells
/// the driver and exits.
JobEntry enter_zygote(int control);

/// Starts a job that was exec'ed without a zygote. Its start message is in `control`.
JobEntry enter_plain(int control);

} // namespace fiber::backends::local
