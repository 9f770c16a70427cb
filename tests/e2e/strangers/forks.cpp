// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <fiber/fiber.hpp>

#include "tests/e2e/strangers/strangers.hpp"

namespace fiber::strangers {
namespace {

using namespace std::chrono_literals;

/// Forks a child that leaves the function as a caller would not expect; waits for it.
template <class F>
int parent_of(F in_child) {
  auto pid = ::fork();
  if (pid == 0)
    in_child();
  else if (int status = 0; ::waitpid(pid, &status, 0) == pid && WIFEXITED(status))
    return WEXITSTATUS(status);
  return pid == 0 ? 0 : -1;
}
int child_returns(int) {
  return parent_of([] {});
}
int child_throws(int) {
  return parent_of([] { throw std::runtime_error("thrown in the child"); });
}
int child_asks(Queue<int> queue) {
  return parent_of([&] {
    try {
      queue.put(1);
    } catch (const Closed&) {
      ::_exit(7);
    }
    ::_exit(8);
  });
}
struct Forks {
  int when_made = parent_of([] {});
  int call() {
    return 10 * when_made + parent_of([] {});
  }
};
int ring_member(RingMember& member) {
  const auto left = parent_of([] {});
  const auto asked = parent_of([&] {
    try {
      member.barrier();
    } catch (const Closed&) {
      ::_exit(7);
    }
    ::_exit(8);
  });
  std::array<int, 1> sum{1};
  member.allreduce(sum);
  return 100 * asked + 10 * left + sum[0];
}

} // namespace

bool forks_in_jobs() {
  auto ones = [](const std::vector<int>& codes) {
    return codes == std::vector<int>(codes.size(), EXIT_FAILURE);
  };
  Pool pool(2);
  auto good = ones(pool.map(child_returns, numbers(6))) &&
              ones(pool.map(child_throws, numbers(6))) && works(pool);
  Queue<int> queue(9);
  good = good && pool.apply(child_asks, queue) == 7 && queue.size() == 0;
  Pool with_initializer({.workers = 2, .initializer = [] { parent_of([] {}); }});
  Pool with_throwing_initializer({.workers = 2, .initializer = [] { child_throws(0); }});
  good = good && works(with_initializer) && works(with_throwing_initializer);
  Pool of_threads({.workers = 4, .workers_per_job = 2});
  good = good && ones(of_threads.map(child_returns, numbers(12))) && works(of_threads);
  good = good && async(child_returns, 0).get() == EXIT_FAILURE &&
         pool.apply_async(twice, 1).then(child_returns).get() == EXIT_FAILURE;
  Process process([] { child_returns(0); });
  process.start();
  process.join();
  good = good && process.exit_code() == 0;
  Manager manager;
  auto object = manager.create<Forks>();
  good = good && object.call<&Forks::call>() == 11 && object.call<&Forks::call>() == 11;
  Ring ring(2, ring_member);
  return good && ring.run() == std::vector<int>{712, 712};
}

namespace {

int slow_twice(int i) {
  std::this_thread::sleep_for(2ms);
  return 2 * i;
}
struct Inherited : Handles {
  MapResult<int> running = pool.map_async(slow_twice, numbers(300));
};
std::vector<std::function<void()>> uses_of(Inherited& all) {
  return {[&] { all.pool.apply(twice, 1); },
          [&] { all.pool.apply_async(twice, 1).get(); },
          [&] { all.pool.map(twice, numbers(3)); },
          [&] { all.pool.imap(twice, numbers(3)); },
          [&] { all.pool.stats(); },
          [&] { all.queue.put(1); },
          [&] { all.queue.get(); },
          [&] { all.simple.put(1); },
          [&] { all.lock.lock(); },
          [&] { all.recursive.lock(); },
          [&] { all.condition.notify_all(); },
          [&] { all.event.set(); },
          [&] { all.event.wait(); },
          [&] { all.semaphore.acquire(); },
          [&] { all.barrier.wait(); },
          [&] { all.ends.first.send(1); },
          [&] { all.ends.second.recv<int>(); },
          [&] { all.object.call<&Counter::next>(); },
          [&] { all.child.call<&Counter::next>(); },
          [&] { all.manager.create<Counter>(); },
          [&] { all.supervisor.spawn<Counter>(); },
          [&] { all.checkpoint.save(1); },
          [&] { all.checkpoint.load<int>(); },
          [&] { all.ring.run(); },
          [&] { all.process.start(); },
          [] { share(numbers(9)); },
          [] { async(twice, 1).get(); },
          [] { Queue<int>(1); },
          [] { Lock(); },
          [] { Manager(); },
          [] { Checkpoint(); },
          [] { Supervisor(); },
          [] { Pool(1); }};
}
/// Returns how many of the uses say that the process is a forked child.
int refused(const std::vector<std::function<void()>>& uses) {
  int count = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    std::string told = "nothing";
    std::cerr << "use " << i << std::endl; // Which may block.
    try {
      uses[i]();
    } catch (const Error& error) {
      told = error.what();
    }
    if (told.find("forked") != told.npos)
      ++count;
    else
      std::cerr << "is not refused: " << told << std::endl;
  }
  return count;
}

} // namespace

int forks_in_driver(int argc, char** argv) {
  auto session = init(argc, argv);
  Inherited all;
  all.object.call<&Counter::next>();
  const auto uses = uses_of(all);
  auto pid = ::fork();
  if (pid == 0) {
    ::alarm(60); // If a use blocks.
    return refused(uses);
  }
  int status = 0;
  auto child =
    ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (child != static_cast<int>(uses.size()))
    std::cout << "the child ended with " << child << std::endl;
  return say(child == static_cast<int>(uses.size()) && all.running.get().size() == 300 &&
             works(all.pool) && all.object.call<&Counter::next>() == 2);
}

int becomes_a_daemon(int argc, char** argv, const std::string& file) {
  auto session = init(argc, argv);
  Pool pool(2);
  if (::daemon(1, 1) != 0)
    return EXIT_FAILURE;
  try {
    pool.apply(twice, 1);
  } catch (const Error& error) {
    std::ofstream(file + ".draft") << error.what();
    std::rename((file + ".draft").c_str(), file.c_str());
  }
  return EXIT_SUCCESS;
}

} // namespace fiber::strangers
