// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace fiber::backends::kubernetes {

/// Gives the container of a pod's spec the security context that Pod Security's level
/// "restricted" admits, with a read-only root file system and a /tmp. Whatever the spec
/// says already stays, also what it says for the whole pod. Other containers stay as they
/// are.
void restrict_pod(nlohmann::json& spec);

/// Returns the mode of the file with the keys: 0400 if the group of the pod's volumes is
/// known, or its user is root; else 0444, as the user may be any of the image's.
int keys_mode(const nlohmann::json& spec);

/// Returns which setting may help a job that ended with this output, or that the cluster
/// refused in these words; empty if none.
std::string advice(std::string_view text);

} // namespace fiber::backends::kubernetes
