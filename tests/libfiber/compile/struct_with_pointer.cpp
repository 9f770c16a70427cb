// SPDX-License-Identifier: Apache-2.0
#include <fiber/fiber.hpp>

struct Name {
  int length;
  const char* text;
};
struct Person { // Inside another struct.
  int id;
  Name name;
};
Person person(int id) {
  return {id, {4, "Anna"}};
}
void use(fiber::Pool& pool) {
  pool.apply(person, 1);
}
