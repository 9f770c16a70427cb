// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fiber/fiber.hpp>

struct Robot {
  std::string name;
};
Robot build(int) {
  return {};
}
void use(fiber::Pool& pool) {
  pool.apply(build, 1);
}
