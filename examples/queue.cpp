// SPDX-License-Identifier: Apache-2.0
// Processes that talk through queues: four of them square what comes, one adds it up.
// Kill one of the four: another one squares its number.
#include <cstdint>
#include <fiber/fiber.hpp>
#include <iostream>
#include <numeric>
#include <set>
#include <vector>

void square(fiber::Queue<std::int64_t> in, fiber::SimpleQueue<std::int64_t> out) {
  try {
    for (;;) {
      auto x = in.get();
      out.put(x * x);
      in.task_done();
    }
  } catch (const fiber::Closed&) { // Nothing more will come.
  }
}

std::int64_t add(fiber::SimpleQueue<std::int64_t> in, std::size_t count) {
  std::set<std::int64_t> all; // A worker that dies before task_done() may have put one.
  while (all.size() < count)
    all.insert(in.get());
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a job, this call never returns.
    constexpr int count = 1000;
    // Room for 100: then put() waits. If a worker dies, the next one gets its number.
    fiber::Queue<std::int64_t> numbers({.capacity = 100, .redeliver = true});
    fiber::SimpleQueue<std::int64_t> squares;
    std::vector<fiber::Process> workers;
    for (int i = 0; i < 4; ++i)
      workers.emplace_back(square, numbers, squares).start();
    auto sum = fiber::async(add, squares, count);
    for (int i = 1; i <= count; ++i)
      numbers.put(i);
    numbers.join(); // Until task_done() was called for each.
    numbers.close();
    std::cout << "the squares of 1 to " << count << " add up to " << sum.get() << '\n';
  });
}
