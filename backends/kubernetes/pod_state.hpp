// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "backends/backend.hpp"
#include "backends/engine/job_exit.hpp"

namespace fiber::backends::kubernetes {

inline constexpr auto container_name = "fiber"; ///< The container of this program.

/// The state of a job according to its pod's object.
struct PodState {
  bool started = false;     ///< Its container runs or has run.
  std::optional<Exit> exit; ///< Set once it has ended.
  bool seen = false;        ///< The kubelet has seen the end; otherwise it may still run.
  /// The cluster or a user removes it (eviction, drain, delete).
  bool disrupted = false;
  std::string waits_for; ///< Why it has not started, in the cluster's words.
  JobEvent::Wait wait = JobEvent::Wait::blocked; ///< Of what kind waits_for is.
  bool never = false;                            ///< It can never start.

  /// Returns whether nothing is wrong with the pod, which only waits.
  bool is_in_queue() const { return wait != JobEvent::Wait::blocked; }
};

/// Reads a Pod. `memory_mb` is its limit, for the message if it was exceeded; 0: none.
/// Never throws: a member of another type counts as missing.
PodState read_pod(const nlohmann::json& pod, std::size_t memory_mb);

} // namespace fiber::backends::kubernetes
