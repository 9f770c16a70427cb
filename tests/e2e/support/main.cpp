// SPDX-License-Identifier: Apache-2.0
#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

// Jobs run this program too: fiber::init turns them into nodes before any test runs.
int main(int argc, char** argv) {
  if (auto session = fiber::init(argc, argv); true) {
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
