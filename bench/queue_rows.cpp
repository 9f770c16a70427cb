// SPDX-License-Identifier: Apache-2.0
#include "bench/queue_rows.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include <fiber/fiber.hpp>

#include "bench/trial.hpp"

namespace {

using Clock = std::chrono::steady_clock; // The same in all processes of a machine.
using Megabyte = std::vector<char>;

/// When a producer began, or a consumer had all.
using Instant = Clock::rep;

Instant now() {
  return Clock::now().time_since_epoch().count();
}

template <class Queue, class Item>
void produce(Queue queue, fiber::Connection driver, Item item) {
  while (auto n = driver.recv<std::size_t>()) {
    auto begin = now();
    for (; n > 0; --n)
      queue.put(item);
    driver.send(begin);
  }
}

template <class Queue>
void consume(Queue queue, fiber::Connection driver) {
  while (auto n = driver.recv<std::size_t>()) {
    for (; n > 0; --n)
      queue.get();
    driver.send(now());
  }
}

/// As many producers as consumers of a queue, each a job.
class Stream {
public:
  template <class Queue, class Item>
  Stream(const Queue& queue, const Item& item, std::size_t pairs) {
    for (std::size_t i = 0; i < pairs; ++i) {
      start(producers_, produce<Queue, Item>, queue, item);
      start(consumers_, consume<Queue>, queue);
    }
  }

  /// The seconds from the first put to the last get of `n` items.
  double run(std::size_t n) {
    auto each = std::max<std::size_t>(n / producers_.size(), 1);
    for (auto* side : {&consumers_, &producers_})
      for (auto& job : *side)
        job.send(each);
    return seconds_between(std::ranges::min(answers(producers_)),
                           std::ranges::max(answers(consumers_)));
  }
  void stop() {
    for (auto* side : {&consumers_, &producers_})
      for (auto& job : *side)
        job.send(std::size_t{0});
  }

private:
  using Jobs = std::vector<fiber::Connection>;

  template <class F, class Queue, class... Args>
  static void start(Jobs& jobs, F f, const Queue& queue, const Args&... args) {
    auto [here, there] = fiber::pipe();
    fiber::Process(f, queue, there, args...).start();
    jobs.push_back(here);
  }
  static std::vector<Instant> answers(Jobs& jobs) {
    std::vector<Instant> instants;
    for (auto& job : jobs)
      instants.push_back(job.recv<Instant>());
    return instants;
  }
  static double seconds_between(Instant begin, Instant end) {
    return std::chrono::duration<double>(Clock::duration(end - begin)).count();
  }

  Jobs producers_, consumers_;
};

template <class Queue, class Item>
double seconds_an_item(const Queue& queue, const Item& item, std::size_t pairs,
                       std::size_t trial) {
  Stream stream(queue, item, pairs);
  auto seconds = bench::seconds_each([&](std::size_t n) { return stream.run(n); }, trial);
  stream.stop();
  return seconds;
}

void simple_queue(const std::string& row) {
  using Item = std::array<char, 64>;
  peers::report(row, 1 / seconds_an_item(fiber::SimpleQueue<Item>(), Item{}, 1, 2000),
                "items/s");
}

/// Of a queue with room for so many, as the peer's has.
template <class Item>
void queue(const std::string& row, const Item& item, std::size_t capacity,
           std::size_t pairs, std::size_t trial) {
  auto seconds = seconds_an_item(fiber::Queue<Item>(capacity), item, pairs, trial);
  peers::report(row, static_cast<double>(std::size(item)) / 1e6 / seconds, "MB/s");
}

template <std::size_t pairs>
void kilobytes(const std::string& row) {
  queue(row, std::array<char, 1000>{}, 1000, pairs, 1000);
}
template <std::size_t pairs>
void megabytes(const std::string& row) {
  queue(row, Megabyte(1000000, 'x'), 16, pairs, 20);
}

} // namespace

namespace bench {

std::map<std::string, Row> queue_rows() {
  return {{"simple_queue", simple_queue},
          {"queue_1kb_1", kilobytes<1>},
          {"queue_1kb_4", kilobytes<4>},
          {"queue_1mb_1", megabytes<1>},
          {"queue_1mb_4", megabytes<4>}};
}

} // namespace bench
