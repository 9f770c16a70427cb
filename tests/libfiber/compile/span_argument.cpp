// SPDX-License-Identifier: Apache-2.0
#include <span>

#include <fiber/fiber.hpp>

double first(std::span<const double> values) {
  return values[0];
}
void use(fiber::Pool& pool, std::span<const double> values) {
  pool.apply(first, values);
}
