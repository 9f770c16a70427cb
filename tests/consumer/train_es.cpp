// SPDX-License-Identifier: Apache-2.0
#include <fiber/rl/environments.hpp>
#include <fiber/rl/es_train.hpp>

#include "balance.hpp"

int main(int argc, char** argv) {
  fiber::rl::register_environment<Balance>("balance");
  return fiber::rl::run_es_train(argc, argv);
}
