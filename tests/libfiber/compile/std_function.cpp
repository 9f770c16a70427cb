// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <fiber/fiber.hpp>

void use(fiber::Pool& pool, const std::function<int(int)>& f) {
  pool.apply(f, 1);
}
