// SPDX-License-Identifier: Apache-2.0
// For strangers.py: a driver over TLS that works and starts workers for as many seconds
// as each line of its input says, and prints how fast it did.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fiber/fiber.hpp>

#include "bench/peers/measurement.hpp"

namespace {

using Sixteen = std::array<char, 16>;

Sixteen echo(Sixteen bytes) {
  return bytes;
}

void wait_for(fiber::Pool& pool) {
  if (!pool.wait_until_workers_up(std::chrono::minutes(1)))
    throw std::runtime_error("a worker is not up after a minute");
}

/// Returns how many seconds each of the workers needed that joined one after the other
/// until `stop`.
std::vector<double> joins(const std::atomic<bool>& stop) {
  std::vector<double> seconds;
  while (!stop) {
    const peers::Stopwatch watch;
    fiber::Pool pool(1);
    wait_for(pool);
    seconds.push_back(watch.seconds());
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

void measure(fiber::Pool& pool, double limit) {
  const std::vector<Sixteen> items(20000);
  std::atomic<bool> stop = false;
  std::vector<double> seconds;
  std::thread joining([&] { seconds = joins(stop); });
  const peers::Stopwatch watch;
  std::size_t tasks = 0;
  for (; watch.seconds() < limit; tasks += items.size())
    pool.map(echo, items, {.chunksize = 1});
  peers::report("tasks", static_cast<double>(tasks) / watch.seconds(), "tasks/s");
  stop = true;
  joining.join();
  peers::report("join", seconds.at(seconds.size() / 2), "s");
  peers::report("join_longest", seconds.back(), "s");
}

} // namespace

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    const auto session = fiber::init(argc, argv, {.link = "tls"});
    fiber::Pool pool(2);
    wait_for(pool);
    for (double seconds = 0; std::cin >> seconds;)
      measure(pool, seconds);
  });
}
