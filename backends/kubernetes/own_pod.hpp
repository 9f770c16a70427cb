// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/objects.hpp"

namespace fiber::backends::kubernetes {

/// Completes the plan by what the pod is that this process runs in: its image, unless one
/// is named, and the pod as owner of what is made. Does nothing outside of a pod. Returns
/// the pod's address, empty if it is not known. Blocks.
std::string look_at_own_pod(Api& api, Plan& plan);

} // namespace fiber::backends::kubernetes
