// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fiber/fiber.hpp>

std::unique_ptr<int> make(int x) {
  return std::make_unique<int>(x);
}
void use(fiber::Pool& pool) {
  pool.apply(make, 1);
}
