// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace fiber::rl {

/// The robot of MuJoCo's that an environment's name means, in whichever version: "hopper"
/// for "hopper" and "hopper_v4". Nothing for other environments. A build without MuJoCo
/// knows the names as well.
std::optional<std::string_view> robot_of(std::string_view environment);

} // namespace fiber::rl
