// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/engines/engine.hpp"

namespace fiber::cli::kubernetes {

/// The label `component` of a driver that `fiber run` has started.
inline constexpr auto driver_component = "driver";

/// Returns the pod template of the setting kubernetes_pod_template, or an empty one, with
/// claims "CLAIM:TARGET[:ro]" mounted. Throws Error.
nlohmann::json common_template(const std::vector<std::string>& volumes);

/// Returns the pod of a driver, as deploy/kubernetes/driver.yaml has it. The setting
/// kubernetes_pod_template holds for it too; it travels in an annotation, as do the
/// claims in `volumes`, so that the driver's workers get both. Throws Error.
nlohmann::json driver_pod(const RunRequest& request, const std::string& image,
                          const std::string& name);

} // namespace fiber::cli::kubernetes
