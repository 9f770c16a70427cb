// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include <fiber/fiber.hpp>

int square(int x) {
  return x * x;
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  fiber::Pool pool(2);
  for (int y : pool.map(square, {1, 2, 3}))
    std::cout << y << '\n';
}
