// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <fiber/fiber.hpp>

int add(int a, int b) {
  return a + b;
}
void use(fiber::Pool& pool) {
  pool.apply(std::bind_front(add, 1), 2);
}
