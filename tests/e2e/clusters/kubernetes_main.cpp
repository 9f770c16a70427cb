// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/clusters/kubernetes_cluster.hpp"

// Pods run this program too, and so do drivers that a test kills: fiber::init comes
// first.
int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == fiber::e2e::drive_word) {
    auto session = fiber::init(argc, argv);
    return fiber::e2e::drive(argv[2]);
  }
  if (auto session = fiber::init(argc, argv, {.backend = "local"}); true) {
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
