// SPDX-License-Identifier: Apache-2.0
#include "bench/object_rows.hpp"

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
void produce(fiber::Connection driver, Queue queue, Item item) {
  while (auto n = driver.recv<std::size_t>()) {
    auto begin = now();
    for (; n > 0; --n)
      queue.put(item);
    driver.send(begin);
  }
}

template <class Queue>
void consume(fiber::Connection driver, Queue queue) {
  while (auto n = driver.recv<std::size_t>()) {
    for (; n > 0; --n)
      queue.get();
    driver.send(now());
  }
}

/// Makes a queue and keeps it until the driver says that nobody uses it any more.
template <class Queue, class... Capacity>
void keep(fiber::Connection driver, Capacity... capacity) {
  driver.send(Queue(capacity...));
  driver.recv<std::size_t>();
}

/// Makes the queue that it consumes.
template <class Queue, class... Capacity>
void consume_own(fiber::Connection driver, Capacity... capacity) {
  const Queue queue(capacity...);
  driver.send(queue);
  consume(driver, queue);
}

template <class F, class... Args>
fiber::Connection start(F f, const Args&... args) {
  auto [here, there] = fiber::pipe();
  fiber::Process(f, there, args...).start();
  return here;
}

/// As many producers as consumers of a queue, each a job.
class Stream {
public:
  template <class Queue, class Item>
  Stream(const Queue& queue, const Item& item, std::size_t pairs) {
    for (std::size_t i = 0; i < pairs; ++i) {
      producers_.push_back(start(produce<Queue, Item>, queue, item));
      consumers_.push_back(start(consume<Queue>, queue));
    }
  }
  /// Of a job that consumes its own queue, and one producer.
  template <class Queue, class Item>
  Stream(fiber::Connection consumer, const Queue& queue, const Item& item)
    : producers_{start(produce<Queue, Item>, queue, item)}, consumers_{consumer} {}

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

double seconds_an_item(Stream stream, std::size_t trial) {
  auto seconds = bench::seconds_each([&](std::size_t n) { return stream.run(n); }, trial);
  stream.stop();
  return seconds;
}

/// From a producer job to a consumer job through a queue that a third job has made.
template <class Queue, class Item, class... Capacity>
double seconds_an_item_elsewhere(const Item& item, std::size_t trial,
                                 Capacity... capacity) {
  auto home = start(keep<Queue, Capacity...>, capacity...);
  auto seconds = seconds_an_item(Stream(home.template recv<Queue>(), item, 1), trial);
  home.send(std::size_t{0});
  return seconds;
}

/// From a producer job to the job that has made the queue.
template <class Queue, class Item, class... Capacity>
double seconds_an_item_to_home(const Item& item, std::size_t trial,
                               Capacity... capacity) {
  auto home = start(consume_own<Queue, Capacity...>, capacity...);
  return seconds_an_item(Stream(home, home.template recv<Queue>(), item), trial);
}

using Small = std::array<char, 64>;
using SmallQueue = fiber::SimpleQueue<Small>;
using LargeQueue = fiber::Queue<Megabyte>;
constexpr std::size_t small_trial = 2000, large_trial = 20, large_capacity = 16;

void simple_queue(const std::string& row) {
  auto seconds = seconds_an_item(Stream(SmallQueue(), Small{}, 1), small_trial);
  peers::report(row, 1 / seconds, "items/s");
}
void third_queue_64b(const std::string& row) {
  auto seconds = seconds_an_item_elsewhere<SmallQueue>(Small{}, small_trial);
  peers::report(row, 1 / seconds, "items/s");
}
void inbox_64b(const std::string& row) {
  auto seconds = seconds_an_item_to_home<SmallQueue>(Small{}, small_trial);
  peers::report(row, 1 / seconds, "items/s");
}

template <class Item>
void report_bytes(const std::string& row, const Item& item, double seconds) {
  peers::report(row, static_cast<double>(std::size(item)) / 1e6 / seconds, "MB/s");
}
void third_queue_1mb(const std::string& row) {
  const Megabyte item(1000000, 'x');
  report_bytes(row, item,
               seconds_an_item_elsewhere<LargeQueue>(item, large_trial, large_capacity));
}
void inbox_1mb(const std::string& row) {
  const Megabyte item(1000000, 'x');
  report_bytes(row, item,
               seconds_an_item_to_home<LargeQueue>(item, large_trial, large_capacity));
}

/// Of a queue with room for so many, as the peer's has.
template <class Item>
void queue(const std::string& row, const Item& item, std::size_t capacity,
           std::size_t pairs, std::size_t trial) {
  auto seconds =
    seconds_an_item(Stream(fiber::Queue<Item>(capacity), item, pairs), trial);
  report_bytes(row, item, seconds);
}

template <std::size_t pairs>
void kilobytes(const std::string& row) {
  queue(row, std::array<char, 1000>{}, 1000, pairs, 1000);
}
template <std::size_t pairs>
void megabytes(const std::string& row) {
  queue(row, Megabyte(1000000, 'x'), large_capacity, pairs, large_trial);
}

constexpr std::size_t pool_workers = 4;
using Kilobyte = std::array<char, 1000>;
using Kilobytes = fiber::Queue<Kilobyte>;

void put_many(const Kilobytes& queue, std::size_t n) {
  for (; n > 0; --n)
    queue.put(Kilobyte{});
}
void get_many(const Kilobytes& queue, std::size_t n) {
  for (; n > 0; --n)
    queue.get();
}

/// The workers of a pool have a task each that is one end of a queue; the driver is the
/// other.
void pool_queue(const std::string& row,
                void (*workers_end)(const Kilobytes&, std::size_t),
                void (*drivers_end)(const Kilobytes&, std::size_t)) {
  const Kilobytes queue(1000);
  fiber::Pool pool(pool_workers);
  auto play = [&](std::size_t n) {
    const std::vector<std::size_t> shares(pool_workers, n / pool_workers + 1);
    auto tasks =
      pool.map_async(fiber::bind(workers_end, queue), shares, {.chunksize = 1});
    drivers_end(queue, shares.size() * shares[0]);
    tasks.get();
  };
  report_bytes(row, Kilobyte{}, bench::seconds_of(play, 1000));
}
void pool_puts(const std::string& row) {
  pool_queue(row, put_many, get_many);
}
void pool_gets(const std::string& row) {
  pool_queue(row, get_many, put_many);
}

} // namespace

namespace bench {

std::map<std::string, Row> queue_rows() {
  return {{"simple_queue", simple_queue},
          {"queue_1kb_1", kilobytes<1>},
          {"queue_1kb_4", kilobytes<4>},
          {"queue_1mb_1", megabytes<1>},
          {"queue_1mb_4", megabytes<4>},
          {"third_queue_64b", third_queue_64b},
          {"third_queue_1mb", third_queue_1mb},
          {"inbox_64b", inbox_64b},
          {"inbox_1mb", inbox_1mb},
          {"pool_puts", pool_puts},
          {"pool_gets", pool_gets}};
}

} // namespace bench
