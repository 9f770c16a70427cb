// SPDX-License-Identifier: Apache-2.0
// Estimates a density by Parzen windows (Parzen 1962): the share of samples that fall
// into a square around a point, by the square's area. There is a task for each width; all
// workers of a machine share one copy of the samples.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fiber/fiber.hpp>
#include <iomanip>
#include <iostream>
#include <numbers>
#include <random>
#include <span>
#include <vector>

using Point = std::array<double, 2>;

double estimate(const fiber::SharedArray<Point>& samples, double width) {
  auto is_inside = [&](const Point& point) {
    return std::abs(point[0]) <= width / 2 && std::abs(point[1]) <= width / 2;
  };
  auto inside = std::count_if(samples.begin(), samples.end(), is_inside);
  return static_cast<double>(inside) / static_cast<double>(samples.size()) /
         (width * width);
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a worker, this call never returns.
    std::vector<Point> samples(1'000'000);
    std::mt19937 random(17);
    std::normal_distribution<double> normal;
    for (auto& [x, y] : samples) {
      x = normal(random);
      y = normal(random);
    }
    std::vector<double> widths(10);
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = 0.1 * static_cast<double>(i + 1);
    fiber::Pool pool(4);
    auto shared = fiber::share(std::span<const Point>(samples));
    auto densities = pool.map(fiber::bind(estimate, shared), widths);
    std::cout << "width  density at the origin (true: " << 1 / (2 * std::numbers::pi)
              << ")\n"
              << std::fixed;
    for (std::size_t i = 0; i < widths.size(); ++i)
      std::cout << std::setprecision(1) << widths[i] << "    " << std::setprecision(4)
                << densities[i] << '\n';
  });
}
