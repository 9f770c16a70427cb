// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "fiber/rl/evolution_training.hpp"

#include "rl/es_train/worker.hpp"

namespace fiber::rl::es_train {

/// Tells how a run goes: on a terminal one line that is rewritten, elsewhere a line an
/// iteration.
class Progress {
public:
  /// `out` must outlive this.
  explicit Progress(std::FILE* out);
  /// Leaves the cursor on a new line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows an iteration, and which workers took part in it: the pids of the first few.
  /// Workers in containers or on other computers are only counted, because their pids are
  /// other processes here. If the iteration did not evaluate the policy, the line has the
  /// mean of the last one that did.
  void show(const CurvePoint& point, std::size_t iterations,
            const std::vector<Worker>& workers);

  /// Prints a line that stays.
  void say(const std::string& line);

private:
  std::FILE* out_;
  bool terminal_;
  bool open_ = false; ///< A line that may be rewritten stands on the terminal.
  std::uint64_t last_episodes_ = 0;
  std::chrono::steady_clock::time_point last_time_;
  bool first_ = true;
  double last_mean_ = std::numeric_limits<double>::quiet_NaN();
};

} // namespace fiber::rl::es_train
