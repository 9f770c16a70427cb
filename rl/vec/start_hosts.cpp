// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <random>
#include <thread>

#include "fiber/error.hpp"
#include "fiber/rl/detail/env_host.hpp"

namespace fiber::rl::detail {

SupervisorOptions host_supervision() {
  // Losses are counted by what they cost (LossGuard), not by their number: jobs may be
  // killed for hours as long as the environments go on in between.
  return {.intensity = std::numeric_limits<int>::max(),
          .period = std::chrono::seconds(10),
          .backoff = {.most = std::chrono::milliseconds(1000)}};
}

std::size_t restarts_of(const Supervisor& supervisor) {
  std::size_t restarts = 0;
  for (const auto& child : supervisor.children())
    restarts += static_cast<std::size_t>(child.restarts);
  return restarts;
}

ChildInfo child_of(const Supervisor& supervisor, const std::string& name) {
  for (auto& child : supervisor.children())
    if (child.name == name)
      return child;
  return {};
}

namespace {

using Spawn = std::function<void(const SpawnOptions&, std::size_t)>;

/// A supervisor restarts a child only once its first object was made.
void spawn_with_retries(const Spawn& spawn, const SpawnOptions& options,
                        std::size_t job) {
  constexpr int tries = 5;
  for (int made = 1;; ++made) {
    try {
      return spawn(options, job);
    } catch (const WorkerLost&) {
      if (made == tries)
        throw;
    }
  }
}

} // namespace

void start_hosts(std::size_t jobs, const Resources& resources,
                 std::vector<std::string>& names,
                 const std::function<void(const SpawnOptions&, std::size_t)>& spawn) {
  constexpr std::size_t at_once = 64; // As many as a session starts at once by default.
  std::random_device random;
  const auto mark = std::to_string(random());
  for (std::size_t job = 0; job < jobs; ++job)
    names.push_back("vec_env " + mark + " job " + std::to_string(job));
  std::mutex mutex;
  std::exception_ptr failure;
  auto start_some = [&](std::size_t first) {
    try {
      for (auto job = first; job < jobs; job += at_once) {
        // A thread of its own: a host serves as long as the VecEnv lives, and those that
        // ask for less than one cpu share a job.
        spawn_with_retries(
          spawn, {.name = names[job], .resources = resources, .detached = true}, job);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  if (jobs == 1) {
    start_some(0);
  } else {
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < std::min(jobs, at_once); ++first)
      threads.emplace_back([&, first] { start_some(first); });
  }
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace fiber::rl::detail
