// SPDX-License-Identifier: Apache-2.0
#include <typeindex>

#include <fiber/fiber.hpp>

int take(const std::type_index&) {
  return 0;
}
void use(fiber::Pool& pool, const std::type_index& value) {
  pool.apply(take, value);
}
