// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/kubeconfig_section.hpp"

namespace fiber::backends::kubernetes {

/// Returns the PEM text of NAME-data, or of the file that NAME names, whose path it
/// stores in `file`. Empty if there is neither. Throws AccessError.
std::string read_pem(const Section& section, const std::string& name, std::string& file);

/// Sets `access.identity` and the endpoint's client certificate; the rest of the endpoint
/// must be complete. Throws AccessError.
void read_user(const Section& user, const Section& cluster, Access& access);

/// Reads users[].user.exec. Throws AccessError.
ExecPlugin read_exec(const Section& exec, const Section& cluster, const Access& access);

} // namespace fiber::backends::kubernetes
