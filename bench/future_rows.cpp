// SPDX-License-Identifier: Apache-2.0
#include "bench/object_rows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <latch>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fiber/fiber.hpp>

#include "bench/peers/measurement.hpp"

namespace {

using Sixteen = std::array<char, 16>;
constexpr std::size_t workers = 4;

Sixteen echo(Sixteen bytes) {
  return bytes;
}

class Echo {
public:
  Sixteen echo(Sixteen bytes) { return bytes; }
};

fiber::Pool pool_that_is_up() {
  fiber::Pool pool(workers);
  if (!pool.wait_until_workers_up(std::chrono::minutes(1)))
    throw std::runtime_error("the workers are not up after a minute");
  return pool;
}

// -- futures
// --------------------------------------------------------------------------------------

/// All are in flight before the first is read.
void futures(const std::string& row) {
  const std::size_t count = row.starts_with("futures_100k") ? 100'000 : 10'000;
  auto pool = pool_that_is_up();
  auto play = [&](std::size_t n) {
    std::vector<fiber::Future<Sixteen>> all;
    all.reserve(n);
    for (; n > 0; --n)
      all.push_back(pool.apply_async(echo, Sixteen{}));
    for (const auto& each : fiber::as_completed(all))
      each.get();
  };
  play(count / 10); // Warm.
  const peers::Stopwatch watch;
  play(count);
  peers::report(row, static_cast<double>(count) / watch.seconds(), "futures/s");
}

/// Chains of tasks. Each task depends on the one before it, whose continuation submits
/// it.
class Chains {
public:
  Chains(fiber::Pool& pool, std::size_t chains, std::size_t length)
    : pool_(pool), length_(length), left_(static_cast<std::ptrdiff_t>(chains)) {
    for (std::size_t i = 0; i < chains; ++i)
      step(0);
  }
  void wait() { left_.wait(); }

private:
  void step(std::size_t done) {
    if (done == length_)
      return left_.count_down();
    pool_.apply_async(echo, Sixteen{}).then([this, done](Sixteen) {
      step(done + 1);
      return 0;
    });
  }

  fiber::Pool& pool_;
  const std::size_t length_;
  std::latch left_;
};

void dag(const std::string& row) {
  constexpr std::size_t chains = 100, length = 100;
  auto pool = pool_that_is_up();
  auto play = [&](std::size_t steps) { Chains(pool, chains, steps).wait(); };
  play(length / 10);
  const peers::Stopwatch watch;
  play(length);
  peers::report(row, static_cast<double>(chains * length) / watch.seconds(), "tasks/s");
}

// -- latencies
// ------------------------------------------------------------------------------------

/// Calls from so many threads, each one at a time, and prints the percentiles of how long
/// they take.
void latencies(const std::string& row, std::size_t threads,
               const std::function<void()>& call) {
  constexpr std::size_t calls = 40'000;
  const auto of_each = calls / threads;
  std::vector<std::vector<double>> times(threads);
  auto measure = [&](std::size_t thread) {
    for (std::size_t i = 0; i < of_each / 10; ++i)
      call();
    times[thread].reserve(of_each);
    for (std::size_t i = 0; i < of_each; ++i) {
      const peers::Stopwatch watch;
      call();
      times[thread].push_back(watch.seconds());
    }
  };
  {
    std::vector<std::jthread> running;
    for (std::size_t thread = 0; thread < threads; ++thread)
      running.emplace_back(measure, thread);
  }
  std::vector<double> all;
  for (const auto& each : times)
    all.insert(all.end(), each.begin(), each.end());
  std::ranges::sort(all);
  auto percentile = [&](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  peers::report(row, 1e6 * percentile(0.5), "us");
  peers::report(row + "_p99", 1e6 * percentile(0.99), "us");
  peers::report(row + "_p999", 1e6 * percentile(0.999), "us");
}

std::size_t threads_of(const std::string& row) {
  return row.find("_8_") != std::string::npos ? 8 : 1;
}

void apply(const std::string& row) {
  auto pool = pool_that_is_up();
  latencies(row, threads_of(row), [&] { pool.apply(echo, Sixteen{}); });
}

void call(const std::string& row) {
  fiber::Manager manager;
  auto object = manager.create<Echo>();
  latencies(row, threads_of(row), [&] { object.call<&Echo::echo>(Sixteen{}); });
}

} // namespace

namespace bench {

std::map<std::string, Row> future_rows() {
  return {{"futures_10k", futures},   {"futures_100k", futures},
          {"dag_10k", dag},           {"latency_apply_1", apply},
          {"latency_apply_8", apply}, {"latency_call_1", call},
          {"latency_call_8", call}};
}

} // namespace bench
