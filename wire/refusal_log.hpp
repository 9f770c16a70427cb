// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace fiber::wire {

/// The warnings about refused connections, at most ten per minute: the first ones in
/// full, the others as one line with their number. Thread safety: none.
class RefusalLog {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t lines_in_full = 9;
  static constexpr std::chrono::seconds period{60};

  ~RefusalLog();
  /// Logs, or counts, that `peer` was refused because it `reason`.
  void refused(const std::string& peer, const std::string& reason,
               Clock::time_point now = Clock::now());

private:
  void sum_up();

  Clock::time_point begin_{};
  std::uint64_t count_ = 0; ///< In this period.
  std::string last_;
};

} // namespace fiber::wire
