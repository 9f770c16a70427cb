// SPDX-License-Identifier: Apache-2.0
// From nothing to all dialled in: prints the milliseconds that a pool of N jobs takes.
#include <chrono>
#include <cstdlib>
#include <iostream>

#include <fiber/fiber.hpp>

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  fiber::Pool pool(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64);
  auto begin = std::chrono::steady_clock::now();
  pool.start_workers();
  bool up = pool.wait_until_workers_up(std::chrono::minutes(5));
  std::chrono::duration<double, std::milli> taken =
    std::chrono::steady_clock::now() - begin;
  std::cout << taken.count() << std::endl;
  return up ? 0 : 1;
}
