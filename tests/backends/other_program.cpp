// SPDX-License-Identifier: Apache-2.0
// Programs that are not as tame as the test's own: what it does is its first argument.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>

#include "backends/local/local_backend.hpp"
#include "tests/backends/job_script.hpp"

using namespace fiber::backends;

namespace {

/// Runs jobs and prints "started PID" for each and for each child, until it is killed.
int drive(bool plain_spawn) {
  std::mutex mutex;
  std::atomic<std::size_t> started = 0;
  auto backend = make_local(
    {.plain_spawn = plain_spawn, .forward_output = false, .argv = {}, .executable = {}});
  backend->watch([&](const JobEvent& event) {
    if (event.kind == JobEvent::Kind::started) {
      std::lock_guard lock(mutex);
      std::cout << "started " << event.pid << std::endl;
      ++started;
    }
  });
  std::vector<Job> jobs;
  for (auto* script : {"wait", "stop\nlinger", "wait", "child\nstop\nlinger"})
    jobs.push_back(backend->create({.name = "job-" + std::to_string(jobs.size()),
                                    .boot = boot(script),
                                    .resources = {},
                                    .image = {},
                                    .labels = {},
                                    .environment = {}}));
  std::string logs;
  while (logs.find("stopping") == logs.npos || logs.find("waiting") == logs.npos) {
    logs = backend->logs(jobs[1].id) + backend->logs(jobs[2].id);
    std::this_thread::yield();
  }
  while ((logs = backend->logs(jobs[3].id)).empty() || logs.find("ing\n") == logs.npos)
    std::this_thread::yield();
  while (started < jobs.size())
    std::this_thread::yield();
  std::lock_guard lock(mutex);
  std::cout << logs << "all up" << std::endl;
  for (;;)
    ::pause();
}

/// Whoever is forked from here on waits until nobody holds the other end of this pipe.
int gate = -1;

/// A zygote whose socket somebody else holds as well, and whose jobs announce themselves
/// when they are let.
void hold_socket(int descriptor) {
  if (::getenv("FIBER_NODE") == nullptr)
    return;
  if (::fork() == 0)
    for (;;)
      ::pause();
  gate = descriptor;
  ::pthread_atfork(nullptr, nullptr, [] {
    char byte = 0;
    while (::read(gate, &byte, 1) > 0) {
    }
  });
}

} // namespace

int main(int argc, char** argv) {
  std::string how = argc > 1 ? argv[1] : "";
  if (how == "exit") {
    std::cout << "no such file: settings.ini" << std::endl;
    return 3;
  }
  if (how == "exit-quietly")
    return 0;
  if (how == "crash") {
    rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::abort();
  }
  if (how == "hang")
    for (;;)
      ::pause();
  if (how == "slow-start") {
    std::cout << "starting" << std::endl;
    for (;;)
      ::pause();
  }
  if (how == "hold-socket")
    hold_socket(std::stoi(argv[2]));
  std::atomic<bool> done = false;
  std::thread thread;
  if (how == "thread")
    thread = std::thread([&] {
      while (!done)
        std::this_thread::yield();
    });
  int code = 0;
  if (how == "banner")
    std::cout
      << "not flushed before fiber::init; "; // Belongs to the zygote, not to each job.
  if (auto entry = enter_job())
    code = play(*entry, argc, argv);
  else if (how == "drive" || how == "drive-plain")
    code = drive(how == "drive-plain");
  done = true;
  if (thread.joinable())
    thread.join();
  return code;
}
