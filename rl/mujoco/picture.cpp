// SPDX-License-Identifier: Apache-2.0
#include "rl/mujoco/picture.hpp"

namespace fiber::rl::mujoco {

Image picture(const Simulation&) {
  return {};
}

} // namespace fiber::rl::mujoco
