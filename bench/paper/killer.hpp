// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <sys/types.h>

#include <fiber/rl/random.hpp>

namespace paper {

/// Kills workers with SIGKILL while an iteration runs, at random times.
class Killer {
public:
  /// Kills `share` of `workers` in each iteration: 1 % of 32 is one in three iterations.
  Killer(double share, std::size_t workers);

  /// A worker that may be killed in the next iteration.
  void saw(pid_t pid);

  /// Begins to kill those that were seen, within the next `seconds`.
  void begin(double seconds);

  /// Kills no more, and forgets who was seen.
  void end();

  std::size_t killed() const { return killed_; } ///< Not while it kills.

private:
  void run(const std::stop_token& stop, double seconds);

  double share_, owed_ = 0; ///< Victims of an iteration; how many are still to die.
  std::size_t killed_ = 0;
  std::vector<pid_t> seen_;
  fiber::rl::Random random_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

} // namespace paper
