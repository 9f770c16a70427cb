// SPDX-License-Identifier: Apache-2.0
// CMA-ES minimises Rosenbrock's function of ten variables; workers compute its values.
// programs/cma_es.cpp is a whole program around the same two lines.
#include <cstddef>
#include <fiber/fiber.hpp>
#include <fiber/rl/cma_es.hpp>
#include <iostream>
#include <vector>

/// Its minimum is 0, where all variables are 1.
double rosenbrock(const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const auto slope = 1 - x[i], valley = x[i + 1] - x[i] * x[i];
    sum += slope * slope + 100 * valley * valley;
  }
  return sum;
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  fiber::Pool pool(4);
  fiber::rl::CmaEs search(std::vector<double>(10, 0.0), 0.5,
                          1); // Start, step size, seed.
  while (!search.stop_reason())
    search.tell(pool.map(rosenbrock, search.ask()));
  std::cout << "the minimum is " << rosenbrock(search.state().best) << ", at "
            << search.state().best.front() << " in each variable\n";
}
