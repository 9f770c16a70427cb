// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/manifests.hpp"

namespace fiber::backends::kubernetes {

/// Completes the plan by this process's pod, as the API server describes it: its image,
/// by digest if that is known, unless another one is set; its pull secrets and security
/// contexts, unless the template sets others; the pod as owner of our objects.
void complete_by_own_pod(Plan& plan, const nlohmann::json& pod);

/// Asks for this process's pod and completes the plan by it. Does nothing outside of a
/// pod. Returns the pod's address, empty if unknown. Blocks.
std::string read_own_pod(Api& api, Plan& plan);

} // namespace fiber::backends::kubernetes
