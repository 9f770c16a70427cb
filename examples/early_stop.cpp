// SPDX-License-Identifier: Apache-2.0
// Looks for a good result rather than for all: takes results as their tasks end, and
// cancels the other tasks when one is good enough.
#include <chrono>
#include <cmath>
#include <fiber/fiber.hpp>
#include <iomanip>
#include <iostream>
#include <random>
#include <thread>
#include <vector>

double height(double x) { // Has many valleys; the deepest is 0 at x = 0.
  return x * x / 1000 + 1 - std::cos(x);
}

double descend(unsigned seed) { // From a random place to the next valley.
  std::mt19937 random(seed);
  double x = 200.0 * random() / random.max() - 100;
  // A task that was cancelled should end soon; else its worker is replaced after 2 s.
  auto stop = fiber::this_task::stop_token();
  for (double step = 1; step > 1e-9 && !stop.stop_requested();) {
    if (height(x + step) < height(x))
      x += step;
    else if (height(x - step) < height(x))
      x -= step;
    else
      step /= 2;
    // Stands for a function that takes longer.
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return height(x);
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a worker, this call never returns.
    fiber::Pool pool(4);
    std::vector<fiber::Future<double>> tries;
    for (unsigned seed = 0; seed < 1000; ++seed)
      tries.push_back(pool.apply_async(descend, seed));
    for (auto ended : fiber::as_completed(tries)) {
      const auto value = ended.get();
      if (value > 1e-6)
        continue;
      int not_needed = 0;
      for (auto& one : tries) {
        not_needed += !one.ready();
        one.cancel(); // Does nothing to a task that has ended.
      }
      std::cout << std::fixed << std::setprecision(3) << "found a valley of the height "
                << value << "; " << not_needed << " of 1000 tries were not needed\n";
      return;
    }
    std::cout << "no try was good enough\n";
  });
}
