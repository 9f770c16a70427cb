// SPDX-License-Identifier: Apache-2.0
#include <system_error>

#include <fiber/fiber.hpp>

struct Outcome {
  int value = 0;
  std::error_code error;
};
Outcome try_it(int value) {
  return {value, {}};
}
void use(fiber::Pool& pool) {
  pool.apply(try_it, 1);
}
