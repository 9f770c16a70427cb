// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "backends/engine/job_exit.hpp"

namespace fiber::backends::kubernetes {

inline constexpr auto container_name = "fiber"; ///< Of the one that runs this program.

/// What a pod's object says of the job in it.
struct PodState {
  bool started = false;     ///< Its container runs or has run.
  std::optional<Exit> exit; ///< It has ended,
  bool seen = false;        ///< as the kubelet has seen; else it may still run a little.
  bool disrupted = false;   ///< Somebody else wants it gone: eviction, drain, delete.
  std::string waits_for;    ///< Why it has not started yet, in the cluster's words.
  bool never = false;       ///< It never will, whatever time it gets.
};

/// Reads a Pod. `memory_mb`: its limit, to be named if it was exceeded; 0: none. Never
/// throws: what is missing or of another type counts as not said.
PodState read_pod(const nlohmann::json& pod, std::size_t memory_mb);

} // namespace fiber::backends::kubernetes
