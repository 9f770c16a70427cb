// SPDX-License-Identifier: Apache-2.0
// Looks at results as they come, and stops at the first that is good enough: which seed
// makes a walker return to its start after exactly 1,000 steps?
#include <fiber/fiber.hpp>
#include <iostream>
#include <random>
#include <utility>
#include <vector>

/// The seed, and where a walk of so many steps ends, each of which goes up or down.
std::pair<unsigned, int> walk(unsigned seed, int steps) {
  std::mt19937 random(seed);
  int at = 0;
  for (int i = 0; i < steps; ++i)
    at += random() % 2 == 0 ? 1 : -1;
  return {seed, at};
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  fiber::Pool pool(4);
  std::vector<fiber::Future<std::pair<unsigned, int>>> walks;
  for (unsigned seed = 0; seed < 10'000; ++seed)
    walks.push_back(pool.apply_async(walk, seed, 1000));
  for (auto done : fiber::as_completed(walks))
    if (auto [seed, end] = done.get(); end == 0) {
      std::cout << "seed " << seed << " returns\n";
      break;
    }
  for (auto& each : walks) // The others are no longer needed.
    each.cancel();
}
