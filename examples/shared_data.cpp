// SPDX-License-Identifier: Apache-2.0
// Processes that share a dict, a list and a counter, which live in a manager.
// A Process never runs twice. A task of a pool may: if its worker dies after it has added
// its number, the retry adds the number again. To count exactly, return numbers instead.
#include <fiber/fiber.hpp>
#include <iostream>
#include <string>
#include <vector>

void work(int i, fiber::Dict<std::string, int> squares, fiber::List<int> order,
          fiber::Value<int> total) {
  squares.set("square of " + std::to_string(i), i * i);
  order.push_back(i);
  // In one trip to the value, so that no other process comes in between.
  total.apply([](int& sum, int n) { sum += n; }, i);
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a job, this call never returns.
    fiber::Manager manager;
    auto squares = manager.dict<std::string, int>();
    auto order = manager.list<int>();
    auto total = manager.value(0);
    std::vector<fiber::Process> processes;
    for (int i = 1; i <= 5; ++i)
      processes.emplace_back(work, i, squares, order, total).start();
    for (auto& process : processes)
      process.join();
    for (auto& [name, square] : squares.items())
      std::cout << name << " is " << square << '\n';
    std::cout << order.size() << " processes came, their numbers add up to "
              << total.get() << '\n';
  });
}
