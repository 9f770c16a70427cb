// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <fiber/fiber.hpp>

int add(int a, int b) {
  return a + b;
}
void use(fiber::Pool& pool, int& x) {
  pool.map(fiber::bind(add, std::ref(x)), {1, 2});
}
