// SPDX-License-Identifier: Apache-2.0
// es_train: evolution strategies on a pool of worker processes. The code is in
// rl/es_train/.
#include "fiber/rl/es_train.hpp"

int main(int argc, char** argv) {
  return fiber::rl::run_es_train(argc, argv);
}
