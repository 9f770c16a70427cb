// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <coroutine>

#include <fiber/fiber.hpp>

int take(const std::array<std::coroutine_handle<>, 2>&) {
  return 0;
}
void use(fiber::Pool& pool, const std::array<std::coroutine_handle<>, 2>& value) {
  pool.apply(take, value);
}
