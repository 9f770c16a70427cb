// SPDX-License-Identifier: Apache-2.0
#include <ranges>

#include <fiber/fiber.hpp>

std::ranges::subrange<const int*> part(const std::vector<int>& values) {
  return {values.data(), values.data() + 1};
}
void use(fiber::Pool& pool, const std::vector<int>& values) {
  pool.apply(part, values);
}
