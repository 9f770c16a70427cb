// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/docker/engine.hpp"

namespace fiber::backends::docker {

/// Removes containers that other sessions left behind: not running, and created longer
/// ago than their lease. (A running one ends by itself when its driver is gone.) Blocks
/// until they are listed and the requests are sent.
void remove_strangers(Engine& engine, const std::string& own_session);

} // namespace fiber::backends::docker
