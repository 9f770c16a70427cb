// SPDX-License-Identifier: Apache-2.0
#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/network/network.hpp"

// Jobs run this program too: on the far side, if there is one, they become nodes.
int main(int argc, char** argv) {
  fiber::e2e::enter_far_side();
  if (auto session = fiber::init(argc, argv); true) {
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
