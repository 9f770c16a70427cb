// SPDX-License-Identifier: Apache-2.0
#pragma once

// core/ holds what every other room of actors/ may use: replies to waiting threads, exit
// reasons, the context of a task, injected faults and the borrowed thread.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace fiber::actors {

/// Fault injection (FIBER_CHAOS): some tasks kill or stall their job as they start. The
/// choice depends only on the seed and the task, so that a run can be repeated.
struct Chaos {
  double kill = 0; ///< Probability that a task kills its job.
  /// Probability that a task stalls its job, for 0.5 to 1.5 heartbeat timeouts.
  double stall = 0;
  std::uint64_t seed = 0;

  /// Reads "kill=P,stall=P,seed=N", each part optional. Nothing on other input.
  static std::optional<Chaos> parse(const std::string& text);

  bool on() const { return kill > 0 || stall > 0; }

  enum class Fate : std::uint8_t { none, kill, stall };
  struct Draw {
    Fate fate = Fate::none;
    double length = 0; ///< Length of a stall in heartbeat timeouts: 0.5 to 1.5.
  };
  Draw draw(std::uint64_t call, std::uint64_t index, int attempt) const;
};

/// The injected faults of a session, and the retries of tasks whatever the cause.
struct ChaosCounts {
  std::atomic<std::size_t> kills{0}, stalls{0}, retries{0};
};

/// Kills this process by SIGKILL.
void kill_this_process();
/// Stops all threads of this process for `length`.
void stall_this_process(std::chrono::nanoseconds length);

} // namespace fiber::actors
