// SPDX-License-Identifier: Apache-2.0
#include <thread>
#include <variant>

#include <fiber/fiber.hpp>

struct Place {
  std::variant<int, std::thread::id> where;
};
Place find(int value) {
  return {value};
}
void use(fiber::Pool& pool) {
  pool.apply(find, 1);
}
