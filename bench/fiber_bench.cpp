// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fiber/fiber.hpp>

#include "allreduce.hpp"

// One row of the tables in docs/reference/performance.md: fiber_bench ROW. See
// bench/README.md.

namespace {

using Clock = std::chrono::steady_clock;
using Sixteen = std::array<char, 16>;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double seconds(const std::function<void()>& f) {
  auto begin = Clock::now();
  f();
  return seconds_since(begin);
}

void print(std::string_view row, double value, std::string_view unit) {
  std::cout << R"({"name": ")" << row << R"(", "value": )" << value << R"(, "unit": ")"
            << unit << "\"}" << std::endl;
}

void wait_for(fiber::Pool& pool) {
  if (!pool.wait_until_workers_up(std::chrono::minutes(1)))
    throw std::runtime_error("the workers are not up after a minute");
}

// -- overhead
// ------------------------------------------------------------------------------------

void nap(int us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

int duration_us(std::string_view row) {
  static const std::map<std::string, int, std::less<>> durations{
    {"1s", 1000000}, {"100ms", 100000}, {"10ms", 10000}, {"1ms", 1000}, {"100us", 100}};
  return durations.at(std::string(row.substr(row.rfind('_') + 1)));
}

void overhead_batch(std::string_view row) {
  constexpr int workers = 5;
  auto us = duration_us(row);
  std::vector<int> tasks(static_cast<std::size_t>(workers * 1000000 / us), us);
  fiber::Pool pool(workers);
  wait_for(pool);
  pool.map(nap, tasks, {.chunksize = 1}); // Warm, as the peers are.
  print(row, seconds([&] { pool.map(nap, tasks, {.chunksize = 1}); }), "s");
}

void overhead_lockstep(std::string_view row) {
  constexpr int workers = 5;
  auto us = duration_us(row);
  auto rounds = 1000000 / us;
  fiber::Pool pool(workers);
  wait_for(pool);
  auto play = [&] {
    for (int round = 0; round < rounds; ++round) {
      std::array<fiber::Future<void>, workers> step;
      for (auto& future : step)
        future = pool.apply_async(nap, us);
      for (auto& future : step)
        future.get();
    }
  };
  play();
  print(row, seconds(play) / rounds * 1e6, "us");
}

// -- small and large tasks
// ---------------------------------------------------------------------------

Sixteen echo(Sixteen bytes) {
  return bytes;
}
std::vector<char> echo_megabyte(std::vector<char> bytes) {
  return bytes;
}

void noop(std::string_view row) {
  constexpr std::size_t tasks = 1000000;
  std::vector<Sixteen> items(tasks);
  fiber::Pool pool(4);
  wait_for(pool);
  pool.map(echo, items, {.chunksize = 1});
  print(row, tasks / seconds([&] { pool.map(echo, items, {.chunksize = 1}); }),
        "tasks/s");
}

void noop_adaptive(std::string_view row) {
  constexpr std::size_t tasks = 1000000;
  std::vector<Sixteen> items(tasks);
  fiber::Pool pool(4);
  wait_for(pool);
  pool.map(echo, items);
  print(row, tasks / seconds([&] { pool.map(echo, items); }), "tasks/s");
}

void apply(std::string_view row) {
  constexpr int calls = 50000;
  fiber::Pool pool(1);
  wait_for(pool);
  auto play = [&](int n) {
    for (int i = 0; i < n; ++i)
      pool.apply(echo, Sixteen{});
  };
  play(calls / 10);
  print(row, calls / seconds([&] { play(calls); }), "round trips/s");
}

void megabyte(std::string_view row) {
  constexpr std::size_t tasks = 200, size = 1000000, rounds = 5;
  std::vector<std::vector<char>> items(tasks, std::vector<char>(size, 'x'));
  fiber::Pool pool(4);
  wait_for(pool);
  pool.map(echo_megabyte, items);
  auto time = seconds([&] {
    for (std::size_t i = 0; i < rounds; ++i)
      pool.map(echo_megabyte, items);
  });
  print(row, rounds * tasks * size / 1e6 / time, "MB/s");
}

// -- values sent once
// -----------------------------------------------------------------------------

constexpr std::size_t shared_bytes = 100000000;

char use_shared(const fiber::Shared<std::vector<char>>& value, int i) {
  return (*value)[static_cast<std::size_t>(i) * 1000];
}
char use_array(const fiber::SharedArray<char>& array, int i) {
  return array[static_cast<std::size_t>(i) * 1000];
}

std::vector<int> numbers(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void share_shared(std::string_view row) {
  constexpr int jobs = 16;
  std::vector<char> data(shared_bytes, 'x');
  auto tasks = numbers(1000);
  fiber::Pool pool(jobs);
  wait_for(pool);
  auto before = pool.stats().bytes_sent;
  print(row, seconds([&] {
          auto value = fiber::share(std::move(data));
          pool.map(fiber::bind(use_shared, value), tasks);
        }),
        "s");
  auto sent = static_cast<double>(pool.stats().bytes_sent - before);
  print("share_shared_transfers", sent / (double{shared_bytes} * jobs), "transfers");
}

char read_together(const fiber::Shared<std::vector<char>>& value, fiber::Barrier all,
                   int i) {
  auto read = use_shared(value, i);
  all.wait();
  return read;
}

/// The time until each of 64 workers has the value. ssh.py runs it over ssh.
void share_64(std::string_view row) {
  constexpr int jobs = 64;
  std::vector<char> data(shared_bytes, 'x');
  fiber::Pool pool(jobs);
  wait_for(pool);
  auto before = pool.stats().bytes_sent;
  print(row, seconds([&] {
          auto value = fiber::share(std::move(data));
          pool.map(fiber::bind(read_together, value, fiber::Barrier(jobs)), numbers(jobs),
                   {.chunksize = 1});
        }),
        "s");
  auto sent = static_cast<double>(pool.stats().bytes_sent - before);
  print("share_64_copies", sent / double{shared_bytes}, "copies");
}

void share_array(std::string_view row) {
  std::vector<char> data(shared_bytes, 'x');
  auto tasks = numbers(1000);
  fiber::Pool pool(16);
  wait_for(pool);
  print(row, seconds([&] {
          auto array = fiber::share(std::span<const char>(data));
          pool.map(fiber::bind(use_array, array), tasks);
        }),
        "s");
}

std::size_t use_bound(const std::vector<char>& data, int) {
  return data.size();
}

void bound(std::string_view row) {
  constexpr std::size_t size = 10000000;
  std::vector<char> data(size, 'x');
  fiber::Pool pool(4);
  wait_for(pool);
  auto before = pool.stats();
  pool.map(fiber::bind(use_bound, data), numbers(10000));
  auto sent = static_cast<double>(pool.stats().bytes_sent - before.bytes_sent);
  print(row, sent / (static_cast<double>(before.workers) * size), "ratio");
}

// -- starts, memory, recovery
// ------------------------------------------------------------------------

/// Memory of a process that it shares with nobody, in MB.
double unshared_mb(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  double kb = 0;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("Private_", 0) == 0)
      kb += std::stod(line.substr(line.find(':') + 1));
  return kb / 1024;
}

double own_bytes() {
  malloc_trim(0);
  return unshared_mb(getpid()) * 1024 * 1024;
}

int process(int us) {
  nap(us);
  return getpid();
}

void start(std::string_view row) {
  constexpr std::size_t workers = 256;
  fiber::Pool pool(workers);
  print(row, seconds([&] { wait_for(pool); }), "s");
  auto pids = pool.map(process, std::vector<int>(workers, 20000), {.chunksize = 1});
  std::set<int> jobs(pids.begin(), pids.end());
  double sum = 0;
  for (auto pid : jobs)
    sum += unshared_mb(pid);
  print("start_256_memory", sum / static_cast<double>(jobs.size()), "MB");
}

void queued(std::string_view row) {
  constexpr std::size_t tasks = 1000000;
  std::vector<Sixteen> items(tasks);
  fiber::Pool pool(1);
  wait_for(pool);
  auto blocker = pool.apply_async(nap, 3000000);
  auto before = own_bytes();
  auto results = pool.map_async(echo, items);
  auto used = own_bytes() - before;
  print(row, used / tasks - sizeof(Sixteen), "bytes");
  results.cancel();
}

/// Says where it runs, then waits to be killed; the second time says when it began.
Clock::rep await_kill(const std::string& path) {
  auto now = Clock::now().time_since_epoch().count();
  if (fiber::this_task::attempt() == 1) {
    std::ofstream(path + ".new") << getpid() << std::endl;
    std::rename((path + ".new").c_str(), path.c_str());
    nap(10000000);
  }
  return now;
}

void recovery(std::string_view row) {
  auto path = "/tmp/fiber_bench." + std::to_string(getpid());
  fiber::Pool pool(2);
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    wait_for(pool);
    auto task = pool.apply_async(await_kill, path);
    int pid = 0;
    while (!(std::ifstream(path) >> pid))
      nap(1000);
    std::remove(path.c_str());
    nap(20000); // The other worker is idle by now.
    auto killed = Clock::now();
    kill(pid, SIGKILL);
    times.push_back(std::chrono::duration<double>(
                      Clock::time_point(Clock::duration(task.get())) - killed)
                      .count());
  }
  auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  print(row, *middle, "s");
}

// -- what a pool can be asked for
// --------------------------------------------------------------------

std::string scratch_file() {
  return "/tmp/fiber_bench." + std::to_string(getpid());
}

char compute(int us) {
  auto end = Clock::now() + std::chrono::microseconds(us);
  while (Clock::now() < end)
    continue;
  return 0;
}

/// As many workers as cores, so that whatever the driver does costs them time.
void busy(std::string_view row) {
  constexpr std::size_t workers = 2, tasks = 30000;
  std::vector<int> items(tasks, 100);
  fiber::Pool pool(workers);
  wait_for(pool);
  pool.map(compute, std::vector<int>(tasks / 10, 100));
  print(row, seconds([&] { pool.map(compute, items); }), "s");
}

std::array<char, 1000> kilobyte(int i) {
  std::array<char, 1000> result;
  result.fill(static_cast<char>(i));
  return result;
}

void results(std::string_view row) {
  constexpr int tasks = 300000;
  auto items = numbers(tasks);
  fiber::Pool pool(4);
  wait_for(pool);
  auto journal = row == "journal_1k" ? scratch_file() : "";
  pool.map(kilobyte, numbers(tasks / 10));
  print(row, tasks / seconds([&] { pool.map(kilobyte, items, {.journal = journal}); }),
        "tasks/s");
  if (!journal.empty())
    std::remove(journal.c_str());
}

void thousand(std::string_view row) {
  fiber::Pool pool(1024);
  print(row, seconds([&] { wait_for(pool); }), "s");
  std::vector<int> tasks(100000, 1000);
  pool.map(nap, std::vector<int>(10000, 1000));
  auto cpu = std::clock();
  print("naps_1024", seconds([&] { pool.map(nap, tasks); }), "s");
  print("naps_1024_driver",
        1e6 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC /
          static_cast<double>(tasks.size()),
        "us");
}

void autoscale(std::string_view row) {
  constexpr auto idle = std::chrono::milliseconds(500);
  constexpr std::size_t most = 64;
  fiber::Pool pool(1);
  pool.autoscale(0, most, idle);
  auto reach = [&](std::size_t workers) {
    while (pool.stats().workers != workers)
      nap(1000);
  };
  auto begin = Clock::now();
  auto tasks = pool.map_async(nap, std::vector<int>(4 * most, 500000));
  reach(most);
  print(row, seconds_since(begin), "s");
  tasks.get();
  auto back = seconds([&] { reach(0); });
  print("autoscale_64_back", back - std::chrono::duration<double>(idle).count(), "s");
}

// -- rings
// ----------------------------------------------------------------------------------------

double allreduces(std::size_t n, fiber::RingMember& member) {
  std::vector<float> values(n);
  return bench::calls_per_second([&] { member.allreduce(values); },
                                 [&](int calls) {
                                   std::array<int, 1> agreed{calls};
                                   member.broadcast(agreed, 0);
                                   return agreed[0];
                                 });
}

void ring(std::string_view row) {
  fiber::Ring ring(bench::ring_members, fiber::bind(allreduces, bench::floats_of(row)));
  print(row, ring.run().front(), "calls/s");
}

} // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(std::string_view)>, std::less<>> rows{
    {"noop", noop},
    {"noop_adaptive", noop_adaptive},
    {"apply", apply},
    {"megabyte", megabyte},
    {"share_shared", share_shared},
    {"share_64", share_64},
    {"share_array", share_array},
    {"bound_10mb", bound},
    {"start_256", start},
    {"queued_1m", queued},
    {"recovery", recovery},
    {"busy_100us", busy},
    {"busy_100us_traced", busy},
    {"results_1k", results},
    {"journal_1k", results},
    {"start_1024", thousand},
    {"autoscale_64", autoscale},
    {"ring_allreduce_4k", ring},
    {"ring_allreduce_1m", ring},
    {"ring_allreduce_64m", ring}};
  std::string_view row = argc == 2 ? argv[1] : "";
  auto tls = row.ends_with("_tls");
  fiber::Config config;
  if (tls)
    config.link = "tls";
  if (row.ends_with("_traced"))
    config.trace = scratch_file();
  auto session = fiber::init(argc, argv, config);
  auto name = tls                       ? row.substr(0, row.size() - 4)
              : row.ends_with("_local") ? row.substr(0, row.size() - 6)
                                        : row;
  try {
    if (row.starts_with("overhead_batch_"))
      overhead_batch(row);
    else if (row.starts_with("overhead_lockstep_"))
      overhead_lockstep(row);
    else if (auto known = rows.find(name); known != rows.end())
      known->second(row);
    else {
      std::cerr << "usage: fiber_bench ROW; the rows are in bench/README.md\n";
      return 2;
    }
  } catch (const std::exception& error) {
    std::cerr << row << ": " << error.what() << '\n';
    return 1;
  }
  if (config.trace)
    std::remove(config.trace->c_str());
}
