// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <utility>
#include <vector>

#include <fiber/fiber.hpp>

struct Line {
  double from[2], to[2];
  std::string_view label;
};
int count(const std::vector<std::pair<int, Line>>& lines) {
  return static_cast<int>(lines.size());
}
void use(fiber::Pool& pool, const std::vector<std::pair<int, Line>>& lines) {
  pool.apply(count, lines);
}
