// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace fiber::actors {

/// Faults on demand: some tasks lose their job as they start, or stop it for a while
/// (FIBER_CHAOS). Which ones is drawn from the seed and the task alone, so that a run can
/// be repeated.
struct Chaos {
  double kill = 0;  ///< Probability that a task kills its job.
  double stall = 0; ///< That it stops it, for half to one and a half heartbeat timeouts.
  std::uint64_t seed = 0;

  /// "kill=P,stall=P,seed=N", each optional; nothing if it is anything else.
  static std::optional<Chaos> parse(const std::string& text);

  bool on() const { return kill > 0 || stall > 0; }

  enum class Fate : std::uint8_t { none, kill, stall };
  struct Draw {
    Fate fate = Fate::none;
    double length = 0; ///< Of a stall, in heartbeat timeouts: 0.5 to 1.5.
  };
  Draw draw(std::uint64_t call, std::uint64_t index, int attempt) const;
};

/// What has been done of it in a session.
struct ChaosCounts {
  std::atomic<std::size_t> kills{0}, stalls{0}, reruns{0};
};

/// Ends this process as if somebody had.
void kill_this_process();
/// Stops this process, with all its threads, for so long.
void stall_this_process(std::chrono::nanoseconds length);

} // namespace fiber::actors
