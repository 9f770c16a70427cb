// SPDX-License-Identifier: Apache-2.0
// A pool that follows the work: populations of 1 to 64 candidates and back, on 1 to 16
// workers. A line for each tenth of a second shows how many tasks and workers there are.
#include <chrono>
#include <cstddef>
#include <fiber/fiber.hpp>
#include <iomanip>
#include <iostream>
#include <ranges>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Stands for a simulator that keeps its own time, such as a game or a robot: more
/// workers than cores are of use then.
int evaluate(int candidate) {
  std::this_thread::sleep_for(100ms);
  return candidate;
}

/// `#` for each worker, `.` for each further task.
void show(std::size_t tasks, std::size_t workers, Clock::time_point begin) {
  std::cout << std::setw(6) << std::chrono::duration<double>(Clock::now() - begin).count()
            << " s" << std::setw(4) << tasks << " tasks" << std::setw(4) << workers
            << " workers " << std::string(workers, '#')
            << std::string(tasks > workers ? tasks - workers : 0, '.') << std::endl;
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  fiber::Pool pool(1);
  pool.autoscale(1, 16, 500ms); // A worker that is idle for half a second goes.
  const auto begin = Clock::now();
  std::cout << std::fixed << std::setprecision(1);
  for (int size : {1, 2, 4, 8, 16, 32, 64, 32, 16, 8, 4, 2, 1})
    for (int iteration = 0; iteration < 5; ++iteration) {
      auto scores = pool.map_async(evaluate, std::views::iota(0, size));
      do
        show(scores.size() - scores.done(), pool.stats().workers, begin);
      while (!scores.wait_for(100ms));
    }
  do {
    std::this_thread::sleep_for(100ms);
    show(0, pool.stats().workers, begin);
  } while (pool.stats().workers > 1);
}
