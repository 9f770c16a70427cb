// SPDX-License-Identifier: Apache-2.0
// poet: the paired open-ended trailblazer on a pool of worker processes.
// The code is in rl/poet/.
#include "fiber/rl/poet.hpp"

int main(int argc, char** argv) {
  return fiber::rl::run_poet(argc, argv);
}
