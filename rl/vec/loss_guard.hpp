// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/detail/env_host.hpp"
#include "rl/vec/workers.hpp"

namespace fiber::rl::vec {

/// Tells a job that is killed now and then from one that can't live: an environment that
/// ends its process each time it is stepped, one that hangs each time, a replacement that
/// never starts.
class LossGuard {
public:
  LossGuard(Desk desk, const detail::EnvHosts& hosts,
            std::vector<detail::HostPlan> plans);

  /// A job was lost that had these orders. If the job ended because an environment hung,
  /// only that one is to blame, and its episode is given up if it hung several times or
  /// is not to be retraced. With OnError::new_episode, the episodes of all orders of a
  /// job that is lost repeatedly are given up. Throws Error, which gives the reason, if
  /// an environment to blame has lost its job several times in a row.
  void lost(std::size_t job, std::span<const int> orders, const std::string& reason);
  /// An environment gave a row that was not lost.
  void gave_row(int id) { envs_[static_cast<std::size_t>(id)] = {}; }
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
  /// One environment since its last row.
  struct Env {
    int losses = 0;      ///< Of its job, for an unknown reason.
    int hangs = 0;       ///< Of itself.
    bool spared = false; ///< Its order was lost as another one hung: that is no loss.
  };
  std::string name(std::size_t job) const;
  std::optional<detail::Hang> take_hang(std::size_t job) const;
  void hung(const detail::Hang& hang, std::span<const int> orders);
  void blame(std::size_t job, std::span<const int> orders, const std::string& reason);

  Desk desk_;
  const detail::EnvHosts& hosts_;
  const std::vector<detail::HostPlan> plans_;
  std::vector<Env> envs_;
  std::vector<Job> jobs_;
  std::chrono::steady_clock::time_point next_check_;
};

} // namespace fiber::rl::vec
