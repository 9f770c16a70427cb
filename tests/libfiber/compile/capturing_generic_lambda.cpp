// SPDX-License-Identifier: Apache-2.0
#include <fiber/fiber.hpp>

void use(fiber::Pool& pool, const std::vector<int>& items, int factor) {
  pool.map([&](auto x) { return x * factor; }, items);
}
