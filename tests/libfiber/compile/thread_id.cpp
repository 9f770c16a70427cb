// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <thread>

#include <fiber/fiber.hpp>

int take(const std::optional<std::thread::id>&) {
  return 0;
}
void use(fiber::Pool& pool, const std::optional<std::thread::id>& value) {
  pool.apply(take, value);
}
