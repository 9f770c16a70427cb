// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>

#include "rl/poet/options.hpp"
#include "rl/poet/pool_evaluator.hpp"

namespace fiber::rl::poet {

/// What a run is told that does not decide its result.
struct RunSettings {
  WorkerRange workers;
  std::filesystem::path out = "poet-out";
  bool resume = false;
  std::uint64_t save_every = 1; ///< Iterations between two checkpoints.
  double seconds = 0;           ///< After which the run ends; 0: no limit.
};

/// Runs POET on a pool and prints its progress, until all iterations are done, the time
/// is over or `stop` is not 0. What it had done is saved then. Needs a session. Throws
/// what Files and Poet throw.
void run(const PoetOptions& options, const RunSettings& settings,
         const std::atomic<int>& stop);

} // namespace fiber::rl::poet
