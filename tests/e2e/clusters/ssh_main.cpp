// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/notes.hpp"

// Jobs run this program too: fiber::init turns them into nodes before anything else.
int main(int argc, char** argv) {
  if (auto session = fiber::init(argc, argv);
      argc == 2 && std::string(argv[1]) == "hold") {
    fiber::Pool pool(4);
    pool.map(
      [](std::size_t i) {
        fiber::e2e::note_and_wait("holding");
        return i;
      },
      fiber::e2e::indices(4));
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
