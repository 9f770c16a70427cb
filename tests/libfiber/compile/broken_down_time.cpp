// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include <fiber/fiber.hpp>

int year(const std::tm& time) { // Has the address of its time zone's name.
  return time.tm_year;
}
void use(fiber::Pool& pool) {
  pool.apply(year, std::tm());
}
