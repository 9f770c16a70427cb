// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include <fiber/fiber.hpp>

std::int64_t square(std::int64_t x) {
  return x * x;
}

std::int64_t sum(const std::vector<std::int64_t>& xs) {
  return std::accumulate(xs.begin(), xs.end(), std::int64_t{0});
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  fiber::Pool pool(2);
  std::vector<std::int64_t> xs(1000);
  std::iota(xs.begin(), xs.end(), 0);
  std::cout << "sum of squares: " << sum(pool.map(square, xs)) << '\n';
  std::cout << "sum of cubes: "
            << sum(pool.map([](std::int64_t x) { return x * x * x; }, xs)) << '\n';
}
