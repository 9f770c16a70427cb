// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fiber/fiber.hpp>
#include <iostream>
#include <numeric>
#include <random>
#include <ranges>

long hits(unsigned seed) { // Of a million points, those in a quarter circle.
  std::mt19937 random(seed);
  auto unit = [&] { return static_cast<double>(random()) / random.max(); };
  long count = 0;
  for (int i = 0; i < 1'000'000; ++i)
    count += std::hypot(unit(), unit()) < 1;
  return count;
}
int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  fiber::Pool pool(4);                    // Four worker processes.
  auto counts = pool.map(hits, std::views::iota(1u, 101u));
  auto sum = std::reduce(counts.begin(), counts.end(), 0.0);
  std::cout << "pi is about " << 4 * sum / 100'000'000 << '\n';
}
