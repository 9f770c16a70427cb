// SPDX-License-Identifier: Apache-2.0
// Minimises a function of ten variables with CMA-ES (Hansen, arXiv 1604.00772): the
// search proposes candidates, a pool computes their values, and the search learns from
// them.
#include <cmath>
#include <fiber/fiber.hpp>
#include <fiber/rl/cma_es.hpp>
#include <iostream>
#include <vector>

double rosenbrock(const std::vector<double>& x) { // Its minimum is 0 at (1, ... 1).
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
  return sum;
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a worker, this call never returns.
    fiber::Pool pool(4);
    fiber::rl::CmaEs search(std::vector<double>(10, 0.0), 0.5); // Where it starts.
    while (!search.stop_reason())
      search.tell(pool.map(rosenbrock, search.ask()));
    std::cout << "the minimum is " << search.state().best_value << " where x[0] is "
              << search.state().best[0] << ", after " << search.generation()
              << " generations: " << *search.stop_reason() << '\n';
  });
}
