// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/job_entry.hpp"

namespace fiber::backends::kubernetes {

// The file of the session's Secret with the keys, in each pod.
inline constexpr auto keys_folder = "/var/run/fiber", keys_file = "keys";
/// FIBER_NODE consists of this, a colon, and the boot bytes in base64.
inline constexpr auto pod_role = "pod";

/// Turns this process into the job of a pod. `boot` is the text after the colon. Throws
/// EngineError.
JobEntry enter_pod(const std::string& boot);

} // namespace fiber::backends::kubernetes
