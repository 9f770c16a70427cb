// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/docker/engine.hpp"

namespace fiber::backends::docker {

/// Removes containers of other sessions that will not go by themselves: created or ended
/// longer ago than their lease. (One that runs ends when its driver is gone.) Blocks
/// until they are listed, not until they are gone.
void remove_strangers(Engine& engine, const std::string& own_session);

} // namespace fiber::backends::docker
