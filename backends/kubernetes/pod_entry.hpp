// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/job_entry.hpp"

namespace fiber::backends::kubernetes {

// Where a pod finds its keys: a file of the session's Secret.
inline constexpr auto keys_folder = "/var/run/fiber", keys_file = "keys";
/// FIBER_NODE is this, a colon, and the boot bytes in base64.
inline constexpr auto pod_role = "pod";

/// Becomes the job of a pod; `boot` is what stands behind the colon. Throws EngineError.
JobEntry enter_pod(const std::string& boot);

} // namespace fiber::backends::kubernetes
