// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <fiber/fiber.hpp>

int next(int x) {
  return x + 1;
}
void use(fiber::Pool& pool, const std::vector<std::string>& texts) {
  pool.map(next, texts);
}
