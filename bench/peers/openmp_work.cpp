// SPDX-License-Identifier: Apache-2.0
#include "openmp_work.hpp"

#include <cmath>

double openmp_work(int task) {
  constexpr int terms = 4000000;
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < terms; ++i)
    sum += std::sin(i * 1e-6 + task);
  return sum;
}
