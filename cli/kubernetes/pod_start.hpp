// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <utility>

#include "backends/kubernetes/pod_state.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::kubernetes {

/// Measures how long a pod takes to start. The time that it waits for room, or for its
/// image, counts against queue_deadline, the rest against start_deadline.
class PodStart {
public:
  explicit PodStart(const Settings& settings)
    : start_deadline_(settings.start_deadline), queue_deadline_(settings.queue_deadline) {
  }

  /// Notes the state since the last call. Returns the name of the deadline that has
  /// passed, or null.
  const char* late(const backends::kubernetes::PodState& state) {
    auto now = Clock::now();
    (state.is_in_queue() ? queued_ : started_) += now - std::exchange(looked_, now);
    if (started_ > start_deadline_)
      return "start_deadline";
    return queue_deadline_.count() > 0 && queued_ > queue_deadline_ ? "queue_deadline"
                                                                    : nullptr;
  }

private:
  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds start_deadline_, queue_deadline_;
  Clock::duration started_{}, queued_{};
  Clock::time_point looked_ = Clock::now();
};

} // namespace fiber::cli::kubernetes
