// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/detail/env_host.hpp"

namespace fiber::rl::vec {

/// Tells a job that is killed now and then from one that can't live: an environment that
/// ends its process each time it is stepped, a replacement that never starts.
class LossGuard {
public:
  LossGuard(const detail::EnvHosts& hosts, std::vector<detail::HostPlan> plans);

  /// A job was lost that had these orders. Throws Error, which gives the reason, if one
  /// of them has lost its job several times in a row.
  void lost(std::size_t job, std::span<const int> orders, const std::string& reason);
  /// An environment gave a row that was not lost.
  void gave_row(int id) { in_a_row_[static_cast<std::size_t>(id)] = 0; }
  /// A job answered.
  void answered(std::size_t job) { jobs_[job].awaited = false; }
  /// Call it while waiting. Throws Error if a job that was lost has failed to start again
  /// several times.
  void check_starts();

private:
  struct Job {
    bool awaited = false; ///< It was lost and has not answered since.
    int restarts = 0;     ///< When it was lost.
  };
  std::string name(std::size_t job) const;

  const detail::EnvHosts& hosts_;
  const std::vector<detail::HostPlan> plans_;
  std::vector<int> in_a_row_; ///< By environment: losses since its last row.
  std::vector<Job> jobs_;
  std::chrono::steady_clock::time_point next_check_;
};

} // namespace fiber::rl::vec
