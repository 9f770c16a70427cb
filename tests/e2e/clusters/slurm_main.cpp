// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/clusters/cluster.hpp"
#include "tests/e2e/support/notes.hpp"

// Jobs run this program too: fiber::init turns them into nodes before anything else.
int main(int argc, char** argv) {
  if (auto cluster = fiber::clusters::slurm())
    setenv("SLURM_CONF", cluster->at("SLURM_CONF").c_str(), 1);
  if (auto session = fiber::init(argc, argv);
      argc == 2 && std::string(argv[1]) == "hold") {
    fiber::Pool pool(3);
    pool.map(
      [](std::size_t i) {
        fiber::e2e::note_and_wait("holding");
        return i;
      },
      fiber::e2e::indices(3));
    return 0;
  } else if (argc == 3 && std::string(argv[1]) == "up") { // For measurements.
    auto begin = std::chrono::steady_clock::now();
    fiber::Pool pool(std::stoul(argv[2]));
    bool up = pool.wait_until_workers_up(std::chrono::minutes(2));
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::cout << (up ? "all up after " : "not up after ") << took.count() << " s\n";
    return up ? 0 : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
