// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>

namespace fiber::strangers {

inline int twice(int i) {
  return 2 * i;
}
inline std::vector<int> numbers(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}
/// Whether a pool does its work, and loses no worker.
inline bool works(Pool& pool, int tasks = 100) {
  auto results = pool.map(twice, numbers(tasks));
  long sum = std::accumulate(results.begin(), results.end(), 0L);
  return sum == long{tasks} * (tasks - 1) && pool.stats().workers_lost == 0;
}
/// Returns the exit code.
inline int say(bool good) {
  std::cout << (good ? "good" : "bad") << std::endl;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

struct Counter {
  int count = 0;
  int next() { return ++count; }
};
inline int one(RingMember&) {
  return 1;
}
/// A process that does not end by itself, except on `inline`, where start() runs it.
inline void wait_unless_inline() {
  const char* backend = std::getenv("FIBER_BACKEND");
  if (backend == nullptr || std::string_view(backend) != "inline")
    ::pause();
}

/// Handles that a program may keep in statics, and that a child inherits.
struct Handles {
  Pool pool{2};
  Future<int> future = pool.apply_async(twice, 21);
  Queue<int> queue{9};
  SimpleQueue<int> simple;
  Lock lock;
  RLock recursive;
  Event event;
  Semaphore semaphore{1};
  Barrier barrier{1};
  Condition condition;
  std::pair<Connection, Connection> ends = pipe();
  Manager manager;
  Ref<Counter> object = manager.create<Counter>();
  Supervisor supervisor;
  Ref<Counter> child = supervisor.spawn<Counter>();
  Checkpoint checkpoint;
  Ring<int> ring{1, one};
  Process process{ProcessOptions{.daemon = true}, wait_unless_inline};
};

/// Children of functions that jobs run, and of callbacks.
bool forks_in_jobs();
/// A child of the driver can't use the session, and ends by returning from main().
int forks_in_driver(int argc, char** argv);
/// The daemon is the child of a driver. It says so instead of waiting for ever.
int becomes_a_daemon(int argc, char** argv, const std::string& file);

/// A session and handles in statics. `way`: how main() ends.
int keeps_all_in_statics(int argc, char** argv, const std::string& way);

} // namespace fiber::strangers
