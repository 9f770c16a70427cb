// SPDX-License-Identifier: Apache-2.0
// Two workers of one job count in one plain int.
#include <chrono>
#include <cstdio>

#include <fiber/fiber.hpp>

namespace {

int counter = 0;

/// Until both are at it.
int count(int) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (std::chrono::steady_clock::now() < end)
    ++counter;
  return counter > 0 ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
  const auto session = fiber::init(argc, argv);
  fiber::Pool pool(fiber::PoolOptions{.workers = 2, .workers_per_job = 2});
  int ended = 0;
  for (int one : pool.map(count, {1, 2, 3, 4}))
    ended += one;
  std::printf("%d\n", ended);
}
