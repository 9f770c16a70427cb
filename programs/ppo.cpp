// SPDX-License-Identifier: Apache-2.0
// ppo: proximal policy optimisation on environments in this process or in jobs. The
// code is in rl/ppo/.
#include "fiber/rl/ppo.hpp"

int main(int argc, char** argv) {
  return fiber::rl::run_ppo(argc, argv);
}
