// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "cli/sessions.hpp"

namespace fiber::cli {

/// Engines may need some time for the output of a job.
inline constexpr std::chrono::milliseconds log_limit{8000};

/// The output of one job, read piece by piece.
class JobLog {
public:
  /// `job` is a job, or a node, which means its latest job.
  explicit JobLog(std::string job) : job_(std::move(job)) {}

  /// Returns what has come since the last call. Throws Error if there is no such job.
  std::string read(Session& session);
  /// Returns whether no more will come.
  bool has_ended() const { return ended_; }

private:
  const std::string job_;
  std::string latest_;   ///< The job that the last answer was about.
  std::string after_;    ///< The end of what was read of it.
  std::size_t have_ = 0; ///< Bytes of its output at that time.
  bool ended_ = false;
};

} // namespace fiber::cli
