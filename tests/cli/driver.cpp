// SPDX-License-Identifier: Apache-2.0
// A program that uses Fiber, for the tests of the command `fiber` to look at:
//   cli_driver once      opens a session and ends
//   cli_driver idle      opens a session and waits for a signal
//   cli_driver work N    keeps a pool of N workers busy, with a queue and a supervisor
#include <fiber/fiber.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr int failing = 3; ///< The index of a task that throws.

int simulate(int seed) {
  if (seed == failing)
    throw std::runtime_error("seed 3 has no solution");
  std::printf("seed %d \x1b[31mred\x1b[0m\n", seed);
  std::fflush(stdout);
  std::this_thread::sleep_for(20ms);
  return seed;
}

class Counter {
public:
  int add(int n) { return count_ += n; }

private:
  int count_ = 0;
};

void ready() {
  std::cout << "ready" << std::endl;
}

[[noreturn]] void wait_for_signal() {
  for (;;)
    ::pause();
}

[[noreturn]] void work(std::size_t workers) {
  fiber::Queue<int> queue(5);
  queue.put(1);
  queue.put(2);
  fiber::Supervisor supervisor;
  auto counter = supervisor.spawn<Counter>({.name = "counter"});
  counter.call<&Counter::add>(1);
  fiber::Pool pool({.workers = workers});
  pool.wait_until_workers_up(std::chrono::minutes(1));
  ready();
  auto results = pool.map_async(simulate, std::views::iota(0, 100000));
  wait_for_signal();
}

} // namespace

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "work")
    work(argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 2);
  if (what == "once")
    return 0;
  ready();
  wait_for_signal();
}
