// SPDX-License-Identifier: Apache-2.0
#include <fiber/fiber.hpp>

int first(std::vector<int>::const_iterator at) {
  return *at;
}
void use(fiber::Pool& pool, const std::vector<int>& values) {
  pool.apply(first, values.begin());
}
