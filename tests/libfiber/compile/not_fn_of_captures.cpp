// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <fiber/fiber.hpp>

void use(fiber::Pool& pool) {
  pool.apply(std::not_fn([limit = 3](int value) { return value > limit; }), 2);
}
