// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <fiber/fiber.hpp>

void use(const std::vector<int>& numbers) {
  fiber::as_completed(numbers);
}
