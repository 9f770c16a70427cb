// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>

struct Game {
  int seed = 0;
  int play() const { return seed; }
};
void use(fiber::Pool& pool, const std::vector<Game>& games) {
  pool.map(std::mem_fn(&Game::play), games);
}
