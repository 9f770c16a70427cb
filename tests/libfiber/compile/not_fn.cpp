// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <fiber/fiber.hpp>

bool is_even(int n) {
  return n % 2 == 0;
}
void use(fiber::Pool& pool) {
  pool.apply(std::not_fn(is_even), 2);
}
