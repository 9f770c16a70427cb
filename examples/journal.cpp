// SPDX-License-Identifier: Apache-2.0
// A map that resumes after a crash of the whole program. The first command below kills
// itself when it has 50 of the 200 results; the second one computes only what is missing:
//
//   $ ./journal scores.journal 50
//   Killed
//   $ ./journal scores.journal
//   56 results were in the journal, 144 were computed; their mean is 0.785185
#include <chrono>
#include <cmath>
#include <csignal>
#include <fiber/fiber.hpp>
#include <iostream>
#include <random>
#include <ranges>
#include <string>
#include <thread>

double simulate(unsigned seed) { // Stands for something that takes longer.
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::mt19937 random(seed);
  auto unit = [&] { return static_cast<double>(random()) / random.max(); };
  int hits = 0;
  for (int i = 0; i < 1000; ++i)
    hits += std::hypot(unit(), unit()) < 1;
  return hits / 1000.0;
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a worker, this call never returns.
    if (argc < 2) {
      std::cerr << "usage: journal FILE [RESULTS UNTIL THE CRASH]\n";
      return 2;
    }
    const std::size_t crash = argc > 2 ? std::stoul(argv[2]) : 0;
    fiber::Pool pool(4);
    std::size_t count = 0;
    double sum = 0;
    for (double result :
         pool.imap(simulate, std::views::iota(0U, 200U), {.journal = argv[1]})) {
      sum += result; // It is in the file by now.
      if (++count == crash)
        std::raise(SIGKILL);
    }
    auto computed = pool.stats().done; // Counts tasks that ran, not what was read.
    std::cout << count - computed << " results were in the journal, " << computed
              << " were computed; their mean is " << sum / static_cast<double>(count)
              << '\n';
    return 0;
  });
}
