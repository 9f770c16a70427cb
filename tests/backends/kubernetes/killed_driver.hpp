// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::backends::kubernetes {

/// The driver of `kubernetes_test --drive NAMESPACE`: creates a job, and an anchor that
/// ends as if its driver were killed, and waits to be killed.
int drive(const std::string& name_space);

} // namespace fiber::backends::kubernetes
