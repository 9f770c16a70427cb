// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <fiber/fiber.hpp>

std::size_t count(const std::vector<std::string_view>& texts) {
  return texts.size();
}
void use(fiber::Pool& pool, const std::vector<std::string_view>& texts) {
  pool.apply(count, texts);
}
