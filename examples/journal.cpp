// SPDX-License-Identifier: Apache-2.0
// A map that survives its program: kill this one with Ctrl-C or kill -9, and start it
// again. It computes only what is missing in the journal.
#include <chrono>
#include <fiber/fiber.hpp>
#include <iostream>
#include <numeric>
#include <ranges>
#include <string>
#include <thread>

/// Stands for something that takes long.
int square(int x) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return x * x;
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  const std::string journal = argc > 1 ? argv[1] : "squares.journal";
  fiber::Pool pool(4);
  auto squares = pool.map(square, std::views::iota(1, 201), {.journal = journal});
  std::cout << "the squares of 1 to 200 add up to "
            << std::reduce(squares.begin(), squares.end()) << ", of which "
            << pool.stats().done << " were computed now\n";
}
