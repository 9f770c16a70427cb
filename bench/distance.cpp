// SPDX-License-Identifier: Apache-2.0
// For distance.py: a driver whose workers are in other network namespaces prints how fast
// they get tasks there.
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fiber/fiber.hpp>

#include "bench/peers/measurement.hpp"

namespace {

using Sixteen = std::array<char, 16>;

constexpr int workers = 4;
/// In a job's environment: "/run/netns/NAME-", which a number from 1 to 4 ends.
constexpr const char* places_variable = "BENCH_PLACES";

Sixteen echo(Sixteen bytes) {
  return bytes;
}
void nap(int us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

/// Enters the first network namespace of `places` that no other job is in. The lock ends
/// with this process.
bool enter_free(const std::string& places) {
  for (int number = 1; number <= workers; ++number) {
    const auto path = places + std::to_string(number);
    const int place = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (place >= 0 && ::flock(place, LOCK_EX | LOCK_NB) == 0)
      return ::setns(place, CLONE_NEWNET) == 0;
    if (place >= 0)
      ::close(place);
  }
  return false;
}

void measure() {
  fiber::Pool pool(workers);
  if (!pool.wait_until_workers_up(std::chrono::minutes(1)))
    throw std::runtime_error("the workers are not up after a minute");

  const std::vector<Sixteen> items(200000);
  pool.map(echo, items, {.chunksize = 1}); // Warm, as the peers are.
  peers::Stopwatch map;
  pool.map(echo, items, {.chunksize = 1});
  peers::report("map", static_cast<double>(items.size()) / map.seconds(), "tasks/s");

  constexpr int calls = 100;
  peers::Stopwatch apply;
  for (int i = 0; i < calls; ++i)
    pool.apply(echo, Sixteen{});
  peers::report("apply", apply.seconds() / calls * 1e3, "ms");

  constexpr int rounds = 50;
  peers::Stopwatch lockstep;
  for (int i = 0; i < rounds; ++i) {
    std::array<fiber::Future<void>, workers> step;
    for (auto& future : step)
      future = pool.apply_async(nap, 10000);
    for (auto& future : step)
      future.get();
  }
  peers::report("round", lockstep.seconds() / rounds * 1e3, "ms");
}

} // namespace

int main(int argc, char** argv) {
  if (const char* places = std::getenv(places_variable);
      places != nullptr && !enter_free(places)) {
    std::perror(places);
    return 1;
  }
  if (argc != 3) {
    std::fputs("usage: distance ADDRESS PLACES; started by distance.py\n", stderr);
    return 2;
  }
  ::setenv(places_variable, argv[2], 1); // For the jobs, which begin above.
  return fiber::main_guard([&] {
    const auto session =
      fiber::init(argc, argv, {.link = "tls", .advertise_address = argv[1]});
    measure();
  });
}
