// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/engines/engine.hpp"

namespace fiber::cli::kubernetes {

/// Checks the access to the cluster, the rights there, and that a job starts.
void diagnose(const DoctorRequest& request, Report& report);

} // namespace fiber::cli::kubernetes
