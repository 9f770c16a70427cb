// SPDX-License-Identifier: Apache-2.0
// ssh/ checks machines that are reached by ssh. Drivers run on this machine.
#pragma once

#include "cli/engines/engine.hpp"

namespace fiber::cli::ssh {

/// Checks each host: that ssh gets there, its C library, its room, its clock, and that a
/// job starts and dials back.
void diagnose(const DoctorRequest& request, Report& report);

} // namespace fiber::cli::ssh
