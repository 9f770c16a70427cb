// SPDX-License-Identifier: Apache-2.0
#include <fiber/fiber.hpp>

int look(const int* x) {
  return *x;
}
void use(fiber::Pool& pool, const int* x) {
  pool.apply(look, x);
}
