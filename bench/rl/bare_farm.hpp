// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sys/types.h>

// The peer of VecEnv on one machine: CartPoles in forked processes, written plainly for
// this one purpose. Rows, rewards and ends of episodes are in a shared mapping, and
// futexes tell both sides. It has no resets that anyone could choose, no statistics of
// episodes, no errors, and hangs if a process dies.

namespace bench {

class BareFarm {
public:
  /// Each step of an environment first sleeps for the next of `pauses`, in seconds, if
  /// there are any. Environment i begins with the i-th of as many equal parts of them.
  BareFarm(std::size_t envs, std::size_t processes, std::vector<double> pauses = {});
  ~BareFarm();
  BareFarm(const BareFarm&) = delete;
  BareFarm& operator=(const BareFarm&) = delete;

  /// Steps all; the observations are there afterwards.
  std::span<const float> step(std::span<const int> actions);
  /// How long the pauses of the first `steps` steps are with a process for each
  /// environment: those of the environment that sleeps longest in each step.
  double ideal_seconds(std::size_t steps) const;

private:
  struct Shared;
  void work(std::size_t process);
  double pause(std::size_t env, std::size_t step) const;

  const std::size_t envs_, processes_;
  const std::vector<double> pauses_;
  Shared* shared_ = nullptr;
  std::size_t size_ = 0;
  std::vector<pid_t> pids_;
};

} // namespace bench
