// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

// Jobs run this program too, and have the environment of the driver at fiber::init.
int main(int argc, char** argv) {
  setenv("FIBER_RL_VENV", FIBER_FAKE_VENV, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  if (auto session = fiber::init(argc, argv); true) {
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
