// SPDX-License-Identifier: Apache-2.0
#include <source_location>
#include <vector>

#include <fiber/fiber.hpp>

int take(const std::vector<std::source_location>&) {
  return 0;
}
void use(fiber::Pool& pool, const std::vector<std::source_location>& value) {
  pool.apply(take, value);
}
