// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "fiber/rl/ppo_options.hpp"

namespace fiber::rl::ppo {

/// What the program ppo is told besides the options of the training.
struct RunOptions {
  std::filesystem::path out = "out", save; ///< save: by default in `out`.
  bool resume = false;
  std::optional<double> until; ///< A mean return that is good enough.
  std::size_t save_every = 50, evaluation_episodes = 100;
  std::uint64_t evaluate_every = 0; ///< In steps; 0: only at the end.
};

/// Trains, with a curve, checkpoints and evaluations, and returns the exit code of the
/// program. Ends early if `interrupted` becomes true.
int run(const PpoOptions& options, const RunOptions& more,
        const std::atomic<bool>& interrupted);

} // namespace fiber::rl::ppo
