// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <fiber/fiber.hpp>

std::size_t length(std::string_view text) {
  return text.size();
}
void use(fiber::Pool& pool, const std::vector<std::string_view>& texts) {
  pool.map(length, texts);
}
