// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/rl/image.hpp"
#include "rl/mujoco/simulation.hpp"

namespace fiber::rl::mujoco {

/// The scene, seen by a camera that follows the robot from the side.
Image picture(const Simulation& simulation);

} // namespace fiber::rl::mujoco
