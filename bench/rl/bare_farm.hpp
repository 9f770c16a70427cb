// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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
  /// Each step of an environment waits for `pause`, too.
  BareFarm(std::size_t envs, std::size_t processes, std::chrono::milliseconds pause = {});
  ~BareFarm();
  BareFarm(const BareFarm&) = delete;
  BareFarm& operator=(const BareFarm&) = delete;

  /// Steps all; the observations are there afterwards.
  std::span<const float> step(std::span<const int> actions);

private:
  struct Shared;
  void work(std::size_t process);

  const std::size_t envs_, processes_;
  const std::chrono::milliseconds pause_;
  Shared* shared_ = nullptr;
  std::size_t size_ = 0;
  std::vector<pid_t> pids_;
};

} // namespace bench
