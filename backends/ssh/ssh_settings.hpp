// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/registry.hpp"
#include "backends/ssh/ssh_backend.hpp"

namespace fiber::backends {

/// Returns the options that the settings ask for. Throws SettingError.
SshOptions ssh_options_of(const BackendOptions& options);

/// Returns whether `text` is a value of ssh_tunnel.
bool is_ssh_tunnel(const std::string& text);

} // namespace fiber::backends
